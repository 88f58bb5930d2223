#include "model/launch/interpret.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "model/input/document_input.hpp"
#include "model/pipeline/split.hpp"

namespace napkin::launch {
namespace {

class Interpreter {
 public:
  Interpreter(const std::vector<Found>& found, const Target& target, const std::string& name)
      : target_(target), name_(name), arguments_(target.files.front().format == Format::arguments) {
    for (const Found& f : found) {
      const auto [at, fresh] = found_.emplace(f.key, &f);
      if (!fresh && !(at->second->value == f.value))
        fail(*at->second, plain(at->second->value) + ", and line " + std::to_string(f.line) + " says " + plain(f.value) + "; write one of them");
    }
  }

  Reading run() {
    for (const Setting& s : target_.settings) {
      note_keys(s);
      if (s.fact.empty() || !holds(s.when, out_.facts)) continue;
      if (s.cases.empty()) read(s);
      else read_cases(s);
    }
    known_.insert(target_.ignored.begin(), target_.ignored.end());
    for (const auto& [key, f] : found_)
      if (!known_.contains(key)) out_.unread.push_back(key);
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const Found& f, const std::string& message) const {
    throw InputError(name_ + ':' + std::to_string(f.line) + ": " + f.key + ": " + message);
  }
  const Found* find(std::string_view key) const {
    const auto at = found_.find(key);
    return at == found_.end() ? nullptr : at->second;
  }
  void note_keys(const Setting& s) {
    if (!s.key.empty()) known_.insert(s.key);
    for (const Case& c : s.cases)
      for (const auto* entries : {&c.set, &c.read})
        for (const Entry& e : *entries) known_.insert(e.key);
  }

  // What a key says: of arguments the first word behind it, or "true" where there is none.
  Value said(const Found& f, bool rest, bool bare) const {
    if (!arguments_) return f.value;
    if (bare || f.value.list.empty()) return true;
    if (!rest) return word(f, f.value.list.front().text);
    std::vector<Value> all;
    for (const Value& w : f.value.list) all.push_back(word(f, w.text));
    return all;
  }
  Value word(const Found& f, const std::string& text) const {
    if (text.find('$') != std::string::npos)
      throw InputError(name_ + ':' + std::to_string(f.line) + ": " + f.key + " is the shell variable " + text + "; write its value");
    return typed(text);
  }

  void set(const Setting& s, Value v, const Found* from) {
    if (from != nullptr && out_.said.contains(s.fact) && !(out_.facts.get(s.fact) == v)) {
      const Found& first = *from_.at(s.fact);
      fail(*from, plain(v) + " contradicts line " + std::to_string(first.line) + ", " + first.key + ": " + plain(out_.facts.get(s.fact)));
    }
    if (from == nullptr && out_.facts.has(s.fact)) return;
    if (from != nullptr) {
      out_.said.insert(s.fact);
      from_.insert_or_assign(s.fact, from);
      out_.places.insert_or_assign(s.fact, name_ + ':' + std::to_string(from->line) + ": " + from->key);
    }
    out_.facts.set(s.fact, std::move(v));
  }

  static Value back(const Setting& s, const Value& v) {
    for (const auto& [fact, spelling] : s.words)
      if (spelling == v) return fact;
    if (!v.is(Value::Kind::list)) return v;
    std::vector<Value> all;
    for (const Value& e : v.list) all.push_back(back(s, e));
    return all;
  }

  void read(const Setting& s) {
    const FactInfo& info = *fact_info(s.fact);
    const Found* f = s.key.empty() ? nullptr : find(s.key);
    // Where a launcher's own numbers are variables, the machine is simply not stated.
    if (f != nullptr && info.role == Role::derived && arguments_ && plain(f->value).find('$') != std::string::npos) f = nullptr;
    if (f != nullptr) {
      Value v = back(s, said(*f, s.rest, false));
      if (v.is(Value::Kind::code)) v.kind = Value::Kind::text;
      if (v.is(Value::Kind::none)) return absent(s);
      const bool number = info.neutral.is(Value::Kind::whole) || (info.neutral.is(Value::Kind::none) && numeric(info.name));
      if (number && !v.is(Value::Kind::whole) && !v.is(Value::Kind::real)) fail(*f, "\"" + one_line(plain(v), 60) + "\" is not a number");
      if (v.is(Value::Kind::real) && std::abs(v.real) < 1e15 && v.real == std::floor(v.real)) v = static_cast<std::int64_t>(v.real);
      const bool share = s.fact == "device_batch" || s.fact == "capacity_factor";
      if (number && v.is(Value::Kind::real) && !share && std::abs(v.real) <= 1e15) fail(*f, plain(v) + " is not a whole number");
      if (number && (v.is(Value::Kind::real) ? v.real : static_cast<double>(v.whole)) > 1e15) fail(*f, plain(v) + " is larger than anything it can be");
      return set(s, std::move(v), f);
    }
    absent(s);
  }
  // Of the facts without a neutral value, those that are words or lists.
  static bool numeric(std::string_view name) {
    constexpr std::string_view others[] = {"model_name", "moe_pattern", "moe_layer_list", "pattern", "split", "window_span", "stage_layers",
                                           "module_parts", "cp_exchange", "expert_exchange"};
    return std::find(std::begin(others), std::end(others), name) == std::end(others);
  }

  void absent(const Setting& s) {
    const Facts& f = out_.facts;
    switch (s.absent.rule) {
      case Absent::Rule::none: return;
      case Absent::Rule::value: return set(s, s.absent.value, nullptr);
      case Absent::Rule::fact:
        if (f.get(s.absent.fact).is(Value::Kind::none)) return;
        return set(s, f.get(s.absent.fact), nullptr);
      case Absent::Rule::hidden_per_head:
        if (f.whole("heads") > 0 && f.whole("hidden") % f.whole("heads") == 0) set(s, f.whole("hidden") / f.whole("heads"), nullptr);
        return;
      case Absent::Rule::ffn_of_hidden:
        // Megatron-LM arguments.py: 4·h, or of gated ones ⌊8·h/3⌋ down to a multiple of 64.
        if (f.whole("hidden") > 0)
          set(s, f.word("mlp").starts_with("gated") ? f.whole("hidden") * 8 / 3 / 64 * 64 : 4 * f.whole("hidden"), nullptr);
        return;
    }
  }

  bool matches(const Entry& e) const {
    const Found* f = find(e.key);
    if (f == nullptr) return e.value.is(Value::Kind::truth) && !e.value.truth && arguments_;
    if (e.value == Value("*")) return true;
    const Value v = said(*f, e.value.is(Value::Kind::list), e.value.is(Value::Kind::truth));
    return v == e.value || (e.value.is(Value::Kind::code) && plain(v) == e.value.text);
  }

  // Whether some case has the value that this key has in the text.
  bool spoken_of(const Setting& s, const std::string& key) const {
    return std::any_of(s.cases.begin(), s.cases.end(), [&](const Case& c) {
      return std::any_of(c.read.begin(), c.read.end(), [&](const Entry& e) { return e.key == key && matches(e); });
    });
  }

  void read_cases(const Setting& s) {
    const Case* best = nullptr;
    const Found* at = nullptr;  // a value that no case has
    for (const Case& c : s.cases) {
      for (const Entry& e : c.read)
        if (const Found* f = find(e.key); f != nullptr && !spoken_of(s, e.key)) at = f;
      if (c.otherwise && !c.read.empty() && std::all_of(c.read.begin(), c.read.end(), [&](const Entry& e) { return matches(e); })) return;
      if (c.is.empty() || !c.reads || (best != nullptr && c.read.size() <= best->read.size())) continue;
      if (std::all_of(c.read.begin(), c.read.end(), [&](const Entry& e) { return matches(e); })) best = &c;
    }
    if (best == nullptr || (best->read.empty() && at != nullptr)) {
      // A table that only reads tells some values from the others.
      const bool only_reads = std::none_of(s.cases.begin(), s.cases.end(), [](const Case& c) { return c.writes; });
      if (only_reads && best == nullptr) return absent(s);
      if (at != nullptr && s.absent.rule == Absent::Rule::none)
        fail(*at, "\"" + one_line(plain(said(*at, false, false)), 60) + "\" is not a value that is known here (" +
                      std::string(fact_info(s.fact)->what) + ")");
      return absent(s);
    }
    const Found* from = nullptr;
    for (const Entry& e : best->read)
      if (const Found* f = find(e.key)) from = f;
    set(s, best->is.front(), from);
  }

  const Target& target_;
  const std::string& name_;
  bool arguments_;
  std::map<std::string, const Found*, std::less<>> found_;
  std::map<std::string, const Found*, std::less<>> from_;
  std::set<std::string, std::less<>> known_;
  Reading out_;
};

// A list of 0 and 1 as Python writes it: "[0]*3+[1]*58", "([0]*1+[1]*1)*24".
class ListExpression {
 public:
  explicit ListExpression(std::string_view s) : s_(s) {}
  std::optional<std::vector<int>> run() {
    auto v = sum(0);
    if (!s_.empty()) return {};
    return v;
  }

 private:
  static constexpr std::size_t most = 100'000;
  bool take(char c) {
    while (!s_.empty() && s_[0] == ' ') s_.remove_prefix(1);
    if (s_.empty() || s_[0] != c) return false;
    s_.remove_prefix(1);
    return true;
  }
  std::optional<std::int64_t> number() {
    while (!s_.empty() && s_[0] == ' ') s_.remove_prefix(1);
    std::int64_t n = 0;
    std::size_t digits = 0;
    for (; digits < 8 && digits < s_.size() && s_[digits] >= '0' && s_[digits] <= '9'; ++digits) n = 10 * n + (s_[digits] - '0');
    s_.remove_prefix(digits);
    if (digits == 0) return {};
    return n;
  }
  std::optional<std::vector<int>> sum(int depth) {
    auto left = product(depth);
    while (left && take('+')) {
      const auto right = product(depth);
      if (!right || left->size() + right->size() > most) return {};
      left->insert(left->end(), right->begin(), right->end());
    }
    return left;
  }
  std::optional<std::vector<int>> product(int depth) {
    if (depth > 16) return {};
    std::optional<std::vector<int>> v;
    if (take('(')) {
      v = sum(depth + 1);
      if (!take(')')) return {};
    } else if (take('[')) {
      v.emplace();
      do {
        const auto n = number();
        if (!n) return {};
        v->push_back(static_cast<int>(*n));
      } while (take(','));
      if (!take(']')) return {};
    }
    while (v && take('*')) {
      const auto n = number();
      if (!n || static_cast<std::size_t>(*n) * v->size() > most) return {};
      const std::vector<int> once = *v;
      v->clear();
      for (std::int64_t i = 0; i < *n; ++i) v->insert(v->end(), once.begin(), once.end());
    }
    return v;
  }
  std::string_view s_;
};

// Dense layers first, then the last of each group with experts; nothing when the layers follow no such pattern.
void set_moe_places(const std::vector<int>& routed, Facts& f) {
  const auto first = std::find(routed.begin(), routed.end(), 1);
  if (first == routed.end()) throw InputError("the layers with experts: none of " + std::to_string(routed.size()) + " has any");
  const auto second = std::find(first + 1, routed.end(), 1);
  const std::int64_t every = second == routed.end() ? 1 : second - first, dense = first - routed.begin() + 1 - every;
  bool regular = dense >= 0;
  for (std::int64_t i = 0; regular && i < static_cast<std::int64_t>(routed.size()); ++i)
    regular = (routed[static_cast<std::size_t>(i)] == 1) == (i >= dense && (i - dense + 1) % every == 0);
  if (!regular)
    throw InputError("the layers with experts follow no pattern that is modelled: some dense layers first, then the last of each so many");
  if (dense > 0) f.set("dense_layers", dense);
  if (every > 1) f.set("moe_every", every);
}

// A product that no machine and no batch exceeds.
std::int64_t product(std::initializer_list<std::int64_t> factors) {
  double p = 1;
  for (const std::int64_t f : factors) p *= static_cast<double>(f);
  if (std::abs(p) > 1e15) {
    std::string s;
    for (const std::int64_t f : factors) s += (s.empty() ? "" : " × ") + std::to_string(f);
    throw InputError(s + " is larger than any machine or batch");
  }
  return static_cast<std::int64_t>(p);
}

void complete_model(Facts& f) {
  if (f.has("window_span")) {
    const Value& v = f.get("window_span");
    std::string_view text = v.text;
    while (!text.empty() && (text.front() == '(' || text.front() == ' ')) text.remove_prefix(1);
    const Value left = v.is(Value::Kind::list) && !v.list.empty() ? v.list.front() : typed(text.substr(0, text.find(',')));
    if (!left.is(Value::Kind::whole) || left.whole < 0 || left.whole > 1'000'000'000)
      throw InputError("the window: \"" + one_line(plain(v), 40) + "\" is not the tokens behind and ahead, as 4095,0");
    f.set("window", left.whole + 1);
  }
  if (f.has("pattern") && !f.has("layers")) f.set("layers", static_cast<std::int64_t>(f.word("pattern").substr(0, f.word("pattern").find('/')).size()));
  if (!f.has("hidden")) return;  // the model goes by a name
  if (f.whole("experts") <= 1 && !f.has("top_k")) {
    for (const auto name : {"experts", "top_k", "expert_ffn", "shared_ffn", "moe_pattern", "moe_layer_list", "etp", "ep"}) f.erase(name);
    return;
  }
  const std::int64_t layers = f.whole("layers");
  if (f.has("pattern")) {
    f.erase("moe_pattern");  // the letters say where the experts are
  } else if (f.has("moe_pattern")) {
    const Value& v = f.get("moe_pattern");
    if (v.is(Value::Kind::whole)) {
      // 1:N: the first of every N layers has experts (Megatron-LM gpt_layer_specs.py).
      std::vector<int> routed;
      for (std::int64_t i = 0; i < layers && v.whole > 0; ++i) routed.push_back(i % v.whole == 0 ? 1 : 0);
      set_moe_places(routed, f);
    } else {
      const auto routed = ListExpression(v.text).run();
      if (!routed) throw InputError("the layers with experts: \"" + one_line(v.text, 80) + "\" is not a list of 0 and 1");
      if (static_cast<std::int64_t>(routed->size()) != layers)
        throw InputError("the layers with experts: " + std::to_string(routed->size()) + " are listed, the model has " + std::to_string(layers));
      set_moe_places(*routed, f);
    }
  } else if (f.has("moe_layer_list")) {
    std::vector<int> routed(static_cast<std::size_t>(std::clamp<std::int64_t>(layers, 0, 100'000)), 0);
    for (const Value& v : f.get("moe_layer_list").list) {
      if (!v.is(Value::Kind::whole) || v.whole < 0 || v.whole >= layers)
        throw InputError("the layers with experts: " + plain(v) + " is not one of " + std::to_string(layers) + " layers");
      routed[static_cast<std::size_t>(v.whole)] = 1;
    }
    set_moe_places(routed, f);
  }
}

}  // namespace

Reading interpret(const std::vector<Found>& found, const Target& target, const std::string& name) {
  return Interpreter(found, target, name).run();
}

void complete(Facts& f) {
  complete_model(f);
  const auto given = [&](std::string_view name) { return f.has(name) && f.whole(name) > 0; };
  const auto follows = [&](std::string_view name, std::int64_t v) {
    if (!given(name)) f.set(name, v);
  };
  if (f.has("ici_tensor")) {
    const auto axis = [&](const std::string& name) {
      const std::int64_t inside = f.whole("ici_" + name), outside = f.whole("dcn_" + name);
      if (inside < 1 || outside < 1 || inside > 10'000'000 || outside > 10'000'000)
        throw InputError("the " + name + " axis: -1 takes what is left of the machine, which is not stated; write the degree");
      return product({inside, outside});
    };
    follows("tp", axis("tensor"));
    follows("cp", axis("context"));
    follows("ep", axis("expert"));
    follows("pp", axis("pipeline"));
    const std::int64_t fsdp = axis("fsdp"), data = axis("data");
    follows("dp", product({fsdp, data, f.whole("ep")}));
    // Weights are sharded over the context and expert axes too (base.yml logical_axis_rules: embed).
    if (!f.has("zero")) f.set("zero", fsdp > 1 || f.whole("cp") > 1 || f.whole("ep") > 1 ? 3 : 0);
    if (f.whole("zero") == 3 && data > 1) follows("shard_ranks", product({fsdp, f.whole("ep"), f.whole("cp")}));
  }
  const std::int64_t mesh = product({f.whole("tp"), f.whole("cp"), f.whole("pp")});
  if (given("nodes") && given("gpus_per_node")) follows("gpus", product({f.whole("nodes"), f.whole("gpus_per_node")}));
  if (f.has("replicate_degree") && f.has("shard_degree")) {
    if (f.whole("shard_degree") < 0 && given("gpus") && mesh > 0)  // what is left
      f.set("shard_degree", f.whole("gpus") / mesh / std::max<std::int64_t>(1, f.whole("replicate_degree")));
    if (given("shard_degree")) follows("dp", product({f.whole("replicate_degree"), f.whole("shard_degree")}));
  }
  if (given("gpus") && mesh > 0 && f.whole("gpus") % mesh == 0) follows("dp", f.whole("gpus") / mesh);
  if (given("dp") && mesh > 0) follows("gpus", product({f.whole("dp"), mesh}));
  if (f.has("replicate_degree") && f.whole("zero") > 0 && f.whole("replicate_degree") > 1 && given("dp"))
    follows("shard_ranks", product({f.whole("dp"), f.whole("cp")}) / f.whole("replicate_degree"));
  if (f.whole("zero") > 0 && f.whole("replicas") > 1 && given("dp")) follows("shard_ranks", product({f.whole("dp"), f.whole("cp")}) / f.whole("replicas"));
  const std::int64_t sequence = f.whole("sequence");
  if (sequence > 0) {
    if (given("micro_batch_tokens")) follows("micro_batch", f.whole("micro_batch_tokens") / sequence);
    if (given("batch_tokens")) follows("global_batch", f.whole("batch_tokens") / sequence);
  }
  const std::int64_t dp = f.has("dp") ? f.whole("dp") : 0;
  if (f.has("device_batch") && given("gpus") && dp > 0) {
    const Value& each = f.get("device_batch");
    if ((each.is(Value::Kind::real) ? each.real : static_cast<double>(each.whole)) > 1e9) throw InputError("sequences for each device: " + plain(each) + " is larger than any batch");
    const auto pass = static_cast<std::int64_t>((each.is(Value::Kind::real) ? each.real : static_cast<double>(each.whole)) *
                                                    static_cast<double>(f.whole("gpus")) + 0.5);
    const std::int64_t m = std::max<std::int64_t>(1, f.whole("micro_batches"));
    follows("global_batch", f.whole("pp") > 1 ? pass : product({pass, m}));
    follows("micro_batch", std::max<std::int64_t>(1, f.whole("pp") > 1 ? pass / dp / m : pass / dp));
  }
  if (given("rank_batch") && dp > 0) follows("global_batch", product({f.whole("rank_batch"), dp}));
  if (given("micro_batch") && given("micro_batches") && dp > 0) follows("global_batch", product({f.whole("micro_batch"), f.whole("micro_batches"), dp}));
  const std::int64_t pp = f.whole("pp");
  if (pp > 1 && !f.has("vpp")) {
    const std::int64_t layers = f.has("layers") ? f.whole("layers") : 0, each = f.has("layers_per_stage") ? f.whole("layers_per_stage") : 0;
    const auto parts = static_cast<std::int64_t>(f.get("module_parts").list.size());
    if (each > 0 && layers > 0 && layers % each == 0 && layers / each % pp == 0) f.set("vpp", layers / each / pp);
    if (parts > 0 && parts % pp == 0) f.set("vpp", parts / pp);
  }
  if (f.has("split") && f.whole("pp") > 1 && f.whole("layers") > 0 && f.whole("layers") <= 100'000) {
    // A layout string says the chunks of a rank, too; in its shortest spelling it can be compared.
    const Stack stack{.embedding = 1, .layers = std::vector<double>(static_cast<std::size_t>(f.whole("layers")), 1.0), .mtp = 0,
                      .mtp_modules = static_cast<int>(f.whole("mtp_layers")), .head = 1};
    const Split split = parse_layout(f.word("split"), stack);
    const auto stages = static_cast<std::int64_t>(split.stages.size());
    if (stages % f.whole("pp") != 0)
      throw InputError("the pipeline layout has " + std::to_string(stages) + " stages, no multiple of the pipeline's " + std::to_string(f.whole("pp")) + " ranks");
    f.set("vpp", stages / f.whole("pp"));
    f.set("split", layout_string(split));
  }
}

}  // namespace napkin::launch
