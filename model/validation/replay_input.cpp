#include "model/validation/replay_input.hpp"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "model/run/run_input.hpp"
#include "model/validation/part_input.hpp"

namespace napkin::validation {
namespace {

constexpr double gib = 0x1p30;

std::string text_of(const Field& record, std::string_view key) {
  const auto f = record.find(key);
  if (!f) return {};
  return f->is(Field::Type::string) ? f->string() : f->raw();
}

// Keys in order, so that two ways of writing the same shape are one.
std::string canonical(const Field& f) { return nlohmann::json::parse(f.raw(), nullptr, true, true).dump(); }

// Everything that classes a row, as far as it can be read: a refused row is counted under it too.
Description describe_record(const Field& record) {
  Description d;
  d.id = text_of(record, "id");
  d.source = text_of(record, "source");
  d.framework = text_of(record, "framework");
  d.hardware = text_of(record, "hardware");
  d.precision = text_of(record, "precision");
  d.task = text_of(record, "task");
  d.cluster_state = text_of(record, "cluster_state");
  d.suspect_reason = text_of(record, "suspect_reason");
  if (const auto f = record.find("suspect")) d.suspect = f->is(Field::Type::boolean) && f->boolean();
  if (const auto f = record.find("model")) {
    d.configuration = canonical(*f);
    if (f->is(Field::Type::string)) d.model = f->string();
    else if (f->is(Field::Type::object)) d.model = text_of(*f, "name");
  }
  for (const std::string_view key : {"gpus", "seq_len", "global_batch", "source"})
    d.configuration += '|' + text_of(record, key);
  d.title = d.model + " on " + text_of(record, "gpus") + ", sequence " + text_of(record, "seq_len") + ", batch " + text_of(record, "global_batch");
  return d;
}

double positive(const Field& f) {
  const double v = f.number();
  if (!(v > 0)) f.fail("is " + f.raw() + "; a measured value is above zero");
  return v;
}

Measurement read_measurement(const Field& record) {
  Measurement m;
  m.convention_given = record.find("convention").has_value();
  const auto f = record.find("measured");
  if (!f) return m;
  const auto take = [&](Metric metric, std::string_view key, double unit = 1) {
    if (const auto v = f->find(key)) at(m.figures, metric) = positive(*v) * unit;
  };
  take(Metric::step_time, "step_time_s");
  take(Metric::tokens_per_s_per_gpu, "tokens_per_s_per_gpu");
  take(Metric::tflops_per_gpu, "tflops_per_gpu");
  take(Metric::mfu, "mfu");
  take(Metric::allocated, "alloc_gib", gib);
  take(Metric::reserved, "reserved_gib", gib);
  take(Metric::static_states, "static_alloc_gib", gib);
  take(Metric::forward, "forward_s");
  take(Metric::backward, "backward_s");
  take(Metric::optimizer, "optimizer_s");
  if (const auto v = f->find("oom")) m.out_of_memory = v->boolean();
  if (const auto v = f->find("memory_of")) {
    const std::string name = v->string();
    const auto known = {MemoryOf::max, MemoryOf::first_stage, MemoryOf::last_stage};
    const auto hit = std::find_if(known.begin(), known.end(), [&](MemoryOf o) { return to_string(o) == name; });
    if (hit == known.end()) v->fail("\"" + name + "\" is not known; write first_stage, last_stage or max");
    m.memory_of = *hit;
  }
  if (const auto v = f->find("alloc_by_rank_gib"))
    for (const Field& rank : v->elements()) m.allocated_by_rank.push_back(positive(rank) * gib);
  return m;
}

// "runs.jsonl:12: /task: ..." → "/task: ...": the place is the row's, the reason is shared.
std::string without_place(std::string reason, const std::string& place) {
  if (reason.starts_with(place + ": ")) reason.erase(0, place.size() + 2);
  return reason;
}

void replay_run(RunRequest request, const std::shared_ptr<Library>& library, Replay& r) {
  request.library = library;
  const Run run = resolve(request);
  compare(r, run, predict(Scope<Plain>(), run.job, run.layout, run.convention));
}

// Calls `work`; what it throws is the reason why the row is refused.
template <class Work>
void refuse_on_error(Replay& r, Work work) {
  try {
    work();
  } catch (const std::exception& e) {
    r.refused = without_place(one_line(e.what()), r.run.place);
    if (r.refused.empty()) r.refused = "cannot be predicted";
  }
  if (r.run.id.empty()) r.run.id = r.run.place;
}

std::string place_of(const SourceText& s) { return s.file + ":" + std::to_string(s.line); }

// Of a file that names its device and no empty call: the shortest time in it, which can be nothing but the call.
double shortest_call(const std::vector<SourceText>& lines) {
  double call = 0;
  for (const SourceText& t : lines) {
    if (t.device.empty()) continue;
    const auto at = t.text.find("\"t_s\":");
    if (at == std::string::npos) continue;
    const double s = std::strtod(t.text.c_str() + at + std::string_view("\"t_s\":").size(), nullptr);
    if (s > 0 && (call == 0 || s < call)) call = s;
  }
  return call;
}

}  // namespace

std::vector<SourceText> split_lines(const std::string& text, const std::string& name) {
  std::vector<SourceText> out;
  std::string device;
  double call = 0;
  std::size_t line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    std::string one = text.substr(begin, end - begin);
    if (const auto header = part_header(one, name, line)) {
      if (header->device) device = std::move(one);
      else call = header->call;
    } else if (one.find_first_not_of(" \t\r") != std::string::npos) {
      out.push_back({std::move(one), name, line, device});
    }
    begin = end + 1;
  }
  if (call == 0) call = shortest_call(out);
  for (SourceText& t : out) t.call = call;
  return out;
}

std::vector<SourceText> read_sources(const std::string& path) {
  const std::string text = read_text(path);
  if (!path.ends_with(".json")) return split_lines(text, path);
  const Field root = Document::parse(text, path).root();
  if (!root.is(Field::Type::array)) return {{text, path, 1}};
  std::vector<SourceText> out;
  for (const Field& f : root.elements()) out.push_back({f.raw(), path, f.line()});
  return out;
}

Replay replay(const SourceText& source, const std::shared_ptr<Library>& library) {
  Replay r;
  const std::string place = place_of(source);
  r.run.place = place;
  refuse_on_error(r, [&] {
    const Field record = Document::parse_line(source.text, source.file, source.line).root();
    if (!record.is(Field::Type::object)) record.fail("is not a record; write one JSON object");
    r.run = describe_record(record);
    r.run.place = place;
    if (is_part(record)) return replay_part(record, source.device, source.call, r);
    r.measured = read_measurement(record);
    replay_run(read_run_record(record), library, r);
  });
  return r;
}

RunCase read_case(const SourceText& source) {
  const Field record = Document::parse_line(source.text, source.file, source.line).root();
  if (!record.is(Field::Type::object) || is_part(record)) record.fail("is not a run record");
  RunCase c{.run = describe_record(record), .measured = read_measurement(record), .request = read_run_record(record)};
  c.run.place = place_of(source);
  return c;
}

Replay replay(const RunCase& run, const std::shared_ptr<Library>& library) {
  Replay r;
  r.run = run.run;
  r.measured = run.measured;
  refuse_on_error(r, [&] { replay_run(run.request, library, r); });
  return r;
}

}  // namespace napkin::validation
