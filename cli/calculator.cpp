#include "cli/calculator.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/explain.hpp"
#include "cli/option_value.hpp"
#include "cli/spelling.hpp"
#include "hardware/hardware_input.hpp"
#include "model/step/precision.hpp"
#include "model/text.hpp"
#include "model/transformer/model_input.hpp"
#include "model/transformer/parameters.hpp"

namespace napkin::cli {

using Json = nlohmann::ordered_json;

OptionList operator+(OptionList a, const OptionList& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

OptionList under(const char* heading, OptionList options) {
  for (Parameter& p : options) p.heading = heading;
  return options;
}

const OptionList machine_options{
    {"--hw", Reads::hardware, "Machine whose datasheet fills what is not given", "h100"},
    {"--precision", Reads::word, "Format whose dense peak counts: bf16, fp8, nvfp4, fp32 ...", "bf16"},
    {"--peak", Reads::flop_rate, "Dense peak of one accelerator: 989 TFLOP/s"},
    {"--memory-bandwidth", Reads::bandwidth, "Memory bandwidth of one accelerator: 3.35 TB/s"},
};

const OptionList shape_options{
    {"--model", Reads::model, "Preset, size (70B) or config.json; or the shape, option by option:"},
    {"--params", Reads::count, "Parameters: 70B"},
    {"--layers", Reads::count, "Layers (L)"},
    {"--hidden", Reads::count, "Model width (h, D)"},
    {"--ffn", Reads::count, "Feed-forward width (F)"},
    {"--heads", Reads::count, "Query heads (N)"},
    {"--kv-heads", Reads::count, "Key-value heads (K); default: as many as heads"},
    {"--head-dim", Reads::count, "Width of a head (H); default: hidden / heads"},
    {"--vocab", Reads::count, "Vocabulary (V)"},
};

const OptionList model_options = OptionList(shape_options.begin(), shape_options.begin() + 2) +
                                 seldom(OptionList(shape_options.begin() + 2, shape_options.end()));

// ---- reading ------------------------------------------------------------------------------------------------------
Given::Given(Derivation& d, std::map<std::string, std::string, std::less<>> typed, const OptionList& parameters)
    : scope_(d), typed_(std::move(typed)), parameters_(&parameters) {}

const Parameter& Given::parameter(std::string_view flag) const {
  for (const Parameter& p : *parameters_)
    if (p.flag == flag) return p;
  throw std::logic_error(fmt::format("calculator without an option {}", flag));
}
bool Given::typed(std::string_view flag) const { return typed_.contains(flag); }
bool Given::has(std::string_view flag) const {
  if (typed(flag)) return true;
  for (const Parameter& p : *parameters_)
    if (p.flag == flag) return p.fallback != nullptr;
  return false;
}
std::string Given::text(std::string_view flag) const {
  if (const auto at = typed_.find(flag); at != typed_.end()) return at->second;
  const Parameter& p = parameter(flag);
  if (p.fallback == nullptr) throw InputError(fmt::format("{} is needed here: {}", flag, p.help));
  return p.fallback;
}
std::string Given::origin(std::string_view flag) const {
  return typed(flag) ? std::string(flag) : fmt::format("{}, default", flag);
}
std::string Given::word(std::string_view flag) const { return text(flag); }

double Given::read(std::string_view flag) const {
  const std::string words = text(flag), name(flag);
  const Parameter& p = parameter(flag);
  const double v = option_value(name.c_str(), words, [&](const std::string& t) { return read_spelled(p.reads, t); });
  const bool counts = p.reads == Reads::count || p.reads == Reads::tokens;
  if (counts && !p.zero && v < 1) throw InputError(fmt::format("{}: \"{}\" is less than one ({})", flag, words, p.help));
  return v;
}
double Given::value(std::string_view flag) const { return read(flag); }
std::int64_t Given::whole(std::string_view flag, std::int64_t least) const {
  const double v = read(flag);
  if (v != std::floor(v) || v < static_cast<double>(least) || v > 1e15)
    throw InputError(fmt::format("{}: \"{}\" is not a whole number of {} or more", flag, text(flag), least));
  return static_cast<std::int64_t>(v);
}

ScalarT<T> Given::number(std::string_view flag, std::string_view symbol) const {
  return scope_.input(symbol, read(flag), origin(flag));
}
BytesT<T> Given::bytes(std::string_view flag, std::string_view symbol) const {
  return scope_.input(symbol, Bytes::si(read(flag)), origin(flag));
}
BytesPerSecondT<T> Given::bandwidth(std::string_view flag, std::string_view symbol) const {
  return scope_.input(symbol, BytesPerSecond::si(read(flag)), origin(flag));
}
FlopsPerSecondT<T> Given::flop_rate(std::string_view flag, std::string_view symbol) const {
  return scope_.input(symbol, FlopsPerSecond::si(read(flag)), origin(flag));
}
FlopsT<T> Given::flops(std::string_view flag, std::string_view symbol) const {
  return scope_.input(symbol, Flops::si(read(flag)), origin(flag));
}
SecondsT<T> Given::seconds(std::string_view flag, std::string_view symbol) const {
  return scope_.input(symbol, Seconds::si(read(flag)), origin(flag));
}
PerSecondT<T> Given::rate(std::string_view flag, std::string_view symbol) const {
  return scope_.input(symbol, PerSecond::si(read(flag)), origin(flag));
}

// ---- the machine --------------------------------------------------------------------------------------------------
const Hardware& Given::hardware() const {
  if (!hardware_) hardware_ = read_hardware(text("--hw"));
  return *hardware_;
}
FlopsPerSecondT<T> Given::peak_of(Format f, std::string_view symbol) const {
  const auto& known = hardware().accelerator.peak[static_cast<std::size_t>(f)];
  if (!known)
    throw InputError(fmt::format("{} has no {} arithmetic; give --peak", hardware().accelerator.name, to_string(f)));
  return scope_.read(symbol, *known);
}
FlopsPerSecondT<T> Given::peak() const {
  if (typed("--peak")) return flop_rate("--peak", "C");
  const auto precision = precision_named(text("--precision"));
  if (!precision) throw InputError(fmt::format("--precision: \"{}\" is not known; write bf16, fp8, mxfp8, nvfp4, fp32", text("--precision")));
  return peak_of(precision->gemm, "C");
}
BytesPerSecondT<T> Given::memory_bandwidth() const {
  if (typed("--memory-bandwidth")) return bandwidth("--memory-bandwidth", "W_mem");
  return scope_.read("W_mem", hardware().accelerator.memory_bandwidth);
}
BytesT<T> Given::memory() const {
  if (typed("--memory")) return bytes("--memory", "M");
  return scope_.read("M", hardware().accelerator.capacity);
}
BytesPerSecondT<T> Given::link() const {
  if (typed("--link")) return bandwidth("--link", "W");
  return scope_.read("W", hardware().network.tiers.front().bandwidth);
}
BytesPerSecondT<T> Given::nic() const {
  if (typed("--nic")) return bandwidth("--nic", "W_nic");
  const auto& tiers = hardware().network.tiers;
  if (tiers.size() < 2) throw InputError(fmt::format("{} has no network out of its node; give --nic", hardware().accelerator.name));
  return scope_.read("W_nic", tiers[1].bandwidth);
}

// ---- the model ----------------------------------------------------------------------------------------------------
bool Given::has_model() const { return typed("--model"); }
bool Given::has_shape() const {
  return has_model() || (typed("--layers") && typed("--hidden") && (typed("--ffn") || typed("--experts")));
}
const Architecture& Given::architecture() const {
  if (architecture_) return *architecture_;
  if (has_model()) {
    architecture_ = read_model(text("--model"));
    return *architecture_;
  }
  if (!has_shape()) throw InputError("needs a model: --model NAME, or its shape: --layers --hidden --ffn --heads --vocab");
  architecture_ = shape_of([&](std::string_view flag) -> std::optional<std::int64_t> {
    if (!has(flag)) return std::nullopt;
    return whole(flag, 0);
  });
  return *architecture_;
}
bool Given::has_parameters() const { return typed("--params") || has_shape(); }
ScalarT<T> Given::parameters() const {
  if (typed("--params")) return number("--params", "P");
  if (!has_shape()) throw InputError("needs a model: --model NAME, or --params 70B");
  return scope_.input("P", static_cast<double>(napkin::parameters(architecture()).total), architecture().name + ", total");
}
ScalarT<T> Given::active_parameters() const {
  if (typed("--active")) return number("--active", "P_active");
  if (typed("--params")) return number("--params", "P");
  if (!has_shape()) throw InputError("needs a model: --model NAME, or --params 70B");
  return scope_.input("P_active", static_cast<double>(napkin::parameters(architecture()).active),
                      architecture().name + ", active");
}

// What --dp says, or what --gpus leaves.
ScalarT<T> replicas(const Given& g, ScalarT<T> tp, ScalarT<T> pp) {
  if (!g.typed("--gpus")) return g.number("--dp", "dp");
  const auto n = g.number("--gpus", "n");
  const double each = n.si() / (tp.si() * pp.si());
  if (each != std::floor(each) || each < 1)
    throw InputError(fmt::format("--gpus {:g} is not a multiple of --tp {:g} times --pp {:g}", n.si(), tp.si(), pp.si()));
  if (g.typed("--dp") && g.value("--dp") != each)
    throw InputError(fmt::format("--gpus {:g} over --tp {:g} and --pp {:g} leaves {:g} replicas, --dp says {:g}", n.si(), tp.si(), pp.si(), each, g.value("--dp")));
  return let("dp", n / (tp * pp));
}

namespace {
// A size of the model's first attention layer or, for the width of the feed-forward, of its widest dense one.
std::optional<double> size_of(const Architecture& a, std::string_view flag) {
  if (flag == "--layers") return static_cast<double>(a.depth());
  if (flag == "--hidden") return static_cast<double>(a.hidden);
  if (flag == "--vocab") return static_cast<double>(a.vocab);
  for (const LayerKind& k : a.kinds) {
    if (flag == "--ffn" && k.ffn.width > 0) return k.ffn.width;
    if (flag == "--expert-ffn" && k.ffn.moe) return k.ffn.moe->ffn;
    if (flag == "--experts" && k.ffn.moe) return k.ffn.moe->experts;
    if (flag == "--top-k" && k.ffn.moe) return k.ffn.moe->top_k;
    if (flag == "--shared-experts" && k.ffn.moe) return k.ffn.moe->shared_experts;
    if (!k.attention) continue;
    if (flag == "--heads") return k.attention->heads;
    if (flag == "--kv-heads") return k.attention->kv_heads;
    if (flag == "--head-dim") return k.attention->head_dim;
  }
  return std::nullopt;
}
}  // namespace

bool Given::has_shape_of(std::string_view flag) const {
  if (typed(flag)) return true;
  if (flag == "--kv-heads" && !has_model() && typed("--heads")) return true;
  if (flag == "--head-dim" && !has_model() && typed("--heads") && typed("--hidden")) return true;
  return has_model() && size_of(architecture(), flag).has_value();
}
ScalarT<T> Given::shape(std::string_view flag, std::string_view symbol) const {
  if (typed(flag)) return number(flag, symbol);
  if (!has_model()) {
    if (flag == "--kv-heads" && typed("--heads")) return number("--heads", symbol);
    if (flag == "--head-dim" && typed("--heads") && typed("--hidden"))
      return let(symbol, number("--hidden", "h") / number("--heads", "N"));
    throw InputError(fmt::format("needs {} ({}), or --model NAME", flag, parameter(flag).help));
  }
  const auto known = size_of(architecture(), flag);
  if (!known) throw InputError(fmt::format("{} has none of what {} gives; write it", architecture().name, flag));
  return scope_.input(symbol, *known, architecture().name);
}

// ---- the answer ---------------------------------------------------------------------------------------------------
std::string Answer::shown(Dim dim, double si, Show show) {
  switch (show) {
    case Show::percent: return fmt::format("{:.4g} %", 100 * si);
    case Show::gib: return fmt::format("{} = {}", format(dim, si), format_gib(Bytes::si(si)));
    case Show::days: return fmt::format("{:.4g} days", si / 86400);
    case Show::per_token: return format(dim, si) + "/token";
    case Show::factor: return fmt::format("{:.4g} x", si);
    case Show::dollars: return fmt::format("{} USD", format(dim, si));
    case Show::plain: break;
  }
  return dim == Dim{} ? (si == std::floor(si) && std::abs(si) < 1e15 ? format_count(si) : fmt::format("{:.5g}", si))
                      : format(dim, si);
}
void Answer::check(const Figure& f) {
  if (!std::isfinite(f.si))
    throw InputError(fmt::format("{} has no finite value with these numbers; look for a zero or a difference that vanishes", f.words));
}

namespace {

using Texts = std::map<std::string, std::string, std::less<>>;

// "8,16,32" → {"8", "16", "32"}; blanks around a comma are not part of a value.
std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> out;
  std::size_t from = 0;
  while (from <= text.size()) {
    const auto to = std::min(text.find(',', from), text.size());
    std::string part = text.substr(from, to - from);
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    out.push_back(std::move(part));
    from = to + 1;
  }
  return out;
}

// One case for each value of the lists; lists of one length go hand in hand.
std::vector<Texts> cases(const Texts& typed, std::vector<std::string>& varying) {
  std::size_t n = 1;
  std::string first;
  std::map<std::string, std::vector<std::string>> lists;
  for (const auto& [flag, text] : typed) {
    auto list = split_list(text);
    if (list.size() > 1) {
      if (n > 1 && list.size() != n)
        throw InputError(fmt::format("{} has {} values and {} has {}; lists go hand in hand: give them one length", first, n, flag, list.size()));
      if (list.size() > 1000) throw InputError(fmt::format("{}: {} values; at most 1000", flag, list.size()));
      if (n > 1 || first.empty()) first = flag;
      n = list.size();
      varying.push_back(flag);
    }
    for (const auto& part : list)
      if (part.empty()) throw InputError(fmt::format("{}: \"{}\" has an empty value; write numbers with commas between them, none inside", flag, one_line(text, 60)));
    lists[flag] = std::move(list);
  }
  std::vector<Texts> out(n);
  for (const auto& [flag, list] : lists)
    for (std::size_t i = 0; i < n; ++i) out[i][flag] = list[list.size() == 1 ? 0 : i];
  return out;
}

struct Worked {
  Texts typed;
  std::unique_ptr<Derivation> derivation = std::make_unique<Derivation>();
  Answer answer;
};

Json figures_json(const Answer& a) {
  Json j = Json::object();
  for (const auto& f : a.figures) {
    const Json::json_pointer at("/" + f.key);
    if (f.label) j[at] = f.text;
    else j[at] = f.si;
  }
  return j;
}

std::vector<const Node*> roots(const Worked& w) {
  std::vector<const Node*> out;
  for (const auto& f : w.answer.figures) out.push_back(f.why);
  return out;
}

Json to_json(const Calculator& c, const std::vector<Worked>& all, bool explained) {
  Json j{{"schema", 1}, {"calculator", c.name}};
  const auto one = [&](const Worked& w, Json& into) {
    into["given"] = Json::object();
    for (const auto& [flag, text] : w.typed) into["given"][flag.substr(2)] = text;
    const Json figures = figures_json(w.answer);
    for (const auto& [key, value] : figures.items()) into[key] = value;
    if (explained) into["explanation"] = explain_json(roots(w));
  };
  if (all.size() == 1) {
    one(all.front(), j);
  } else {
    j["cases"] = Json::array();
    for (const auto& w : all) {
      Json entry = Json::object();
      one(w, entry);
      for (const auto& f : w.answer.figures)
        for (const auto& g : all.front().answer.figures)
          if (f.key == g.key && !f.label && g.si != 0) entry["over_first"][f.key] = f.si / g.si;
      j["cases"].push_back(std::move(entry));
    }
  }
  const Answer& a = all.front().answer;
  j["counting"] = a.conventions;  // "conventions" holds figures of flops
  j["neglected"] = a.neglected;
  j["follow_up"] = a.follow_up;
  return j;
}

// Figures downwards, cases to the right.
Table to_table(const Calculator& c, const std::vector<Worked>& all, const std::vector<std::string>& varying, OutputFormat format) {
  const bool csv = format == OutputFormat::csv;
  Table t;
  t.title = csv ? "" : c.description;
  t.columns = {{csv ? "key" : "figure", false}};
  for (const auto& w : all) {
    std::string head;
    for (const auto& flag : varying) head += fmt::format("{}{} {}", head.empty() ? "" : ", ", flag.substr(2), w.typed.at(flag));
    t.columns.push_back({all.size() > 1 ? head : "value", true});
  }
  if (all.size() == 2 && !csv) t.columns.push_back({"second / first", true});
  std::vector<std::pair<std::string, std::string>> keys;  // in order of first appearance
  for (const auto& w : all)
    for (const auto& f : w.answer.figures)
      if (std::none_of(keys.begin(), keys.end(), [&](const auto& k) { return k.first == f.key; })) keys.emplace_back(f.key, f.words);
  for (const auto& [key, words] : keys) {
    std::vector<std::string> row{csv ? key : words};
    std::vector<double> values;
    for (const auto& w : all) {
      const auto at = std::find_if(w.answer.figures.begin(), w.answer.figures.end(), [&](const auto& f) { return f.key == key; });
      if (at == w.answer.figures.end()) {
        row.emplace_back();
        continue;
      }
      row.push_back(csv && !at->label ? fmt::format("{:.9g}", at->si) : at->text);
      if (!at->label) values.push_back(at->si);
    }
    if (all.size() == 2 && !csv) row.push_back(values.size() == 2 && values[0] != 0 ? fmt::format("{:.4g}", values[1] / values[0]) : "");
    t.rows.push_back(std::move(row));
  }
  const Answer& a = all.front().answer;
  for (const auto& s : a.conventions) t.notes.push_back("convention: " + s);
  for (const auto& s : a.neglected) t.notes.push_back("neglected: " + s);
  if (!a.follow_up.empty()) t.notes.push_back("asked next: " + a.follow_up);
  return t;
}

void run(const Calculator& c, const Asked& o, Session& session) {
  if (c.other_engine != nullptr && c.other_engine(o)) return;
  std::vector<std::string> varying;
  std::vector<Worked> all;
  for (auto& texts : cases(o.typed, varying)) {
    Worked& w = all.emplace_back();
    w.typed = std::move(texts);
    c.compute(Given(*w.derivation, w.typed, c.parameters), w.answer);
    if (w.answer.figures.empty())
      throw InputError(fmt::format("nothing to compute from these options (napkin {} --help shows what each needs)", c.name));
    if (!w.answer.feasible) session.exit_code = 1;
  }
  if (o.format == OutputFormat::json) return print(to_json(c, all, o.explain.value_or(false)).dump(2) + "\n");
  print(render(to_table(c, all, varying, o.format), o.format));
  const bool terminal = o.format == OutputFormat::table && prints_to_terminal();
  if (o.explain.value_or(terminal) && o.format != OutputFormat::csv)
    for (const auto& w : all) print("\n" + explain(roots(w)));
}

const char* type_name(Reads r) {
  switch (r) {
    case Reads::bytes: return "BYTES";
    case Reads::bandwidth: return "B/S";
    case Reads::flop_rate: return "FLOP/S";
    case Reads::flops: return "FLOP";
    case Reads::seconds: return "TIME";
    case Reads::frequency: return "HZ";
    case Reads::rate: return "RATE";
    case Reads::share: return "SHARE";
    case Reads::word: return "WORD";
    case Reads::model: return "MODEL";
    case Reads::hardware: return "HW";
    case Reads::tokens: return "TOKENS";
    default: return "N";
  }
}

}  // namespace

void add_calculator(CLI::App& app, Session& session, const Calculator& calculator) {
  const auto c = std::make_shared<const Calculator>(calculator);
  CLI::App* command = app.add_subcommand(c->name, c->description);
  for (const char* alias : c->aliases) command->alias(alias);
  const auto o = std::make_shared<Asked>();
  for (const Parameter& p : c->parameters) {
    const std::string flag = p.flag;
    const std::string names = c->positional != nullptr && flag == c->positional ? flag + "," + flag.substr(2) : flag;
    const std::string help = p.fallback != nullptr ? fmt::format("{} (default {})", p.help, p.fallback) : p.help;
    CLI::Option* option = nullptr;
    if (p.reads == Reads::flag) {
      option = command->add_flag_callback(names, [o, flag] { o->typed[flag] = "1"; }, help);
    } else {
      option = command->add_option_function<std::string>(names, [o, flag](const std::string& text) { o->typed[flag] = text; }, help);
      option->type_name(type_name(p.reads));
    }
    under(option, p.heading);
  }
  command->add_flag_callback("--explain", [o] { o->explain = true; }, "Unfold every number (default on a terminal)");
  seldom(command->add_flag_callback("--no-explain", [o] { o->explain = false; }, "The table alone"));
  add_format(*command, o->format);
  command->footer(fmt::format("A list (--batch 8,16,32) gives one column each; a bare number is in SI units, in tokens k is 1,024.\n\nExamples:\n{}", c->examples));
  command->callback([c, o, &session] { run(*c, *o, session); });
}

}  // namespace napkin::cli
