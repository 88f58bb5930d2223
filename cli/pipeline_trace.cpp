#include "cli/pipeline_trace.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <vector>

#include "model/input_error.hpp"

namespace napkin::cli {
namespace {

constexpr double microseconds = 1e6;

struct Kind {
  const char* category;
  const char* colour;  // of the reserved names that trace viewers know
};
constexpr Kind kind_of(Work w) {
  switch (w) {
    case Work::forward: return {"forward", "thread_state_running"};
    case Work::backward: return {"backward", "thread_state_runnable"};
    case Work::input_gradient: return {"input gradient", "thread_state_iowait"};
    case Work::weight_gradient: return {"weight gradient", "thread_state_unknown"};
  }
  return {"", ""};
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

class Writer {
  fmt::memory_buffer out_;
  bool first_ = true;

 public:
  template <class... T>
  void event(fmt::format_string<T...> text, T&&... values) {
    fmt::format_to(std::back_inserter(out_), "{}", first_ ? "\n{" : ",\n{");
    first_ = false;
    fmt::format_to(std::back_inserter(out_), text, std::forward<T>(values)...);
    out_.push_back('}');
  }
  [[nodiscard]] std::string take() const {
    return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + fmt::to_string(out_) + "\n]}\n";
  }
};

}  // namespace

std::string trace_json(const PipelineProgram& program, std::span<const StageWork> stages, const Timeline& timeline,
                       const std::string& title, const std::string& held_unit) {
  Writer w;
  w.event(R"("ph":"M","name":"process_name","pid":0,"args":{{"name":{}}})", quoted(title));
  for (int r = 0; r < program.ranks; ++r) {
    w.event(R"("ph":"M","name":"thread_name","pid":0,"tid":{0},"args":{{"name":"rank {0}"}})", r);
    w.event(R"("ph":"M","name":"thread_sort_index","pid":0,"tid":{0},"args":{{"sort_index":{0}}})", r);
  }
  std::vector<int> rank_of(static_cast<std::size_t>(program.stages()));
  for (int r = 0; r < program.ranks; ++r) {
    for (int c = 0; c < program.chunks; ++c) rank_of[static_cast<std::size_t>(program.stage(r, c))] = r;
  }
  // An arrow leaves the slice that makes a message and enters the one that takes it; both know it by the same id.
  const auto id = [&](int boundary, std::int32_t micro_batch, bool forward) {
    return (static_cast<std::int64_t>(boundary) * program.micro_batches + micro_batch) * 2 + (forward ? 0 : 1);
  };
  const auto crosses = [&](int boundary) {
    return rank_of[static_cast<std::size_t>(boundary)] != rank_of[static_cast<std::size_t>(boundary + 1)];
  };
  for (int r = 0; r < program.ranks; ++r) {
    const auto& order = program.order[static_cast<std::size_t>(r)];
    for (std::size_t i = 0; i < order.size(); ++i) {
      const ScheduledOperation& op = order[i];
      const int stage = program.stage(r, op.chunk);
      const double start = timeline.spans[static_cast<std::size_t>(r)][i].start.si() * microseconds;
      const double end = timeline.spans[static_cast<std::size_t>(r)][i].end.si() * microseconds;
      const Kind kind = kind_of(op.work);
      w.event(R"("ph":"X","name":"{}","cat":"{}","cname":"{}","pid":0,"tid":{},"ts":{},"dur":{},)"
              R"("args":{{"micro_batch":{},"chunk":{},"stage":{}}})",
              label(op, program.chunks), kind.category, kind.colour, r, start, end - start, op.micro_batch, op.chunk,
              stage);
      if (op.work == Work::weight_gradient) continue;
      const bool forward = op.work == Work::forward;
      const bool makes = forward ? !program.last(stage) : !program.first(stage);
      const bool takes = forward ? !program.first(stage) : !program.last(stage);
      const int out = forward ? stage : stage - 1, in = forward ? stage - 1 : stage;
      constexpr const char* arrow = R"("ph":"{}","bp":"e","id":{},"name":"{}","cat":"message","pid":0,"tid":{},"ts":{})";
      const char* name = forward ? "activations" : "gradients";
      if (makes && crosses(out)) w.event(arrow, "s", id(out, op.micro_batch, forward), name, r, end);
      if (takes && crosses(in)) w.event(arrow, "f", id(in, op.micro_batch, forward), name, r, start);
    }
    for (const Held& held : memory_of(program, stages, timeline, r).over_time) {
      w.event(R"-("ph":"C","name":"held by rank {} ({})","pid":0,"ts":{},"args":{{"held":{}}})-", r, held_unit,
              held.at.si() * microseconds, held.amount);
    }
  }
  return w.take();
}

void write_file(const std::string& path, const std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  const bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (!written || !closed) throw InputError(fmt::format("cannot write \"{}\": {}", path, std::strerror(errno)));
}

}  // namespace napkin::cli
