// napkin pipeline: the timeline of a schedule, in numbers and as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.hpp"
#include "cli/explain.hpp"
#include "cli/html_page.hpp"
#include "cli/pipeline_picture.hpp"
#include "cli/pipeline_trace.hpp"
#include "cli/spelling.hpp"
#include "model/input/document_input.hpp"
#include "model/input/number_input.hpp"
#include "model/input_error.hpp"
#include "model/collective/textbook.hpp"
#include "model/pipeline/boundary.hpp"
#include "model/pipeline/schedule_input.hpp"
#include "model/pipeline/split.hpp"
#include "model/pipeline/stage_costs.hpp"
#include "model/text.hpp"
#include "model/transformer/model_input.hpp"
#include "model/pipeline/stack_flops.hpp"

namespace napkin::cli {
namespace {

const std::string convention = "convention: bubble = makespan - work of the busiest rank; over ideal (that work) and over total (the makespan)";

struct Options {
  std::string schedule = "1f1b", file;
  int chunks = 1, tp = 1, width = 120;
  std::optional<int> stages;
  std::optional<std::int64_t> micro_batches;
  std::int64_t group = 0;
  std::string forward = "1", input_gradient = "1", weight_gradient = "1", recompute = "0", send;
  std::string forward_hidden = "0", backward_hidden = "0", stage_times;
  bool blocking = false, explain = false, scatter = false;
  std::string model, sequence, split, bandwidth;
  std::int64_t micro_batch = 1, hidden = 0;
  std::string gradients, gradient_bandwidth;
  int dp = 0;
  std::string trace, svg;
  OutputFormat format = OutputFormat::table;
};

// What was asked, worked out.
struct Answer {
  std::optional<Schedule> schedule;  // none: hand-written
  std::string name;
  PipelineProgram program;
  std::vector<StageWork> stages;
  Timeline timeline;
  std::vector<RankMemory> memory;
  std::optional<PipelineTime<Plain>> closed;
  std::optional<Split> split;
  std::optional<Bytes> boundary;
  std::optional<PassFlops<Plain>> passes;      // of one GPT layer of that width
  std::optional<Seconds> message_chain;        // messages of one direction, nothing else waited for
  std::optional<Seconds> reduce_once;          // gradients of a stage over dp ranks
};

// "12 ms", or a bare number of seconds.
Seconds time_of(const std::string& option, const std::string& text) {
  try {
    const bool bare = text.find_first_not_of("0123456789.eE+-") == text.npos;
    const Seconds t = bare ? Seconds::si(parse_number(text)) : parse_seconds(text);
    if (t.si() >= 0) return t;
  } catch (const std::invalid_argument& e) {
    throw InputError(fmt::format("{}: {}", option, e.what()));
  }
  throw InputError(fmt::format("{}: \"{}\" is negative; write a time from 0 on", option, text));
}

template <class Parse>
auto parsed(const std::string& option, const std::string& text, Parse parse) {
  try {
    return parse(text);
  } catch (const std::invalid_argument& e) {
    throw InputError(fmt::format("{}: {}", option, e.what()));
  }
}

std::vector<std::string> split_text(const std::string& text, char at) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// --stage-times F:B:W,F:B:W,…: every stage of a lane in order.
std::vector<StageWork> written_stages(const Options& o, const StageWork& base, int depth) {
  const std::vector<std::string> entries = split_text(o.stage_times, ',');
  if (entries.size() != static_cast<std::size_t>(depth)) {
    throw InputError(fmt::format("--stage-times: {} stages for a pipeline of {}; write F:B:W for each, with commas between",
                                 entries.size(), depth));
  }
  std::vector<StageWork> stages;
  for (const std::string& entry : entries) {
    const std::vector<std::string> times = split_text(entry, ':');
    if (times.size() != 3) {
      throw InputError(fmt::format("--stage-times: \"{}\"; write forward:input-gradient:weight-gradient, as in 1:1:1", entry));
    }
    StageWork stage = base;
    stage.forward = time_of("--stage-times", times[0]);
    stage.input_gradient = time_of("--stage-times", times[1]);
    stage.weight_gradient = time_of("--stage-times", times[2]);
    stages.push_back(stage);
  }
  return stages;
}

PipelineProgram program_of(const Options& o, Answer& a) {
  if (!o.file.empty()) {
    if (o.stages || o.micro_batches) {
      throw InputError("--file says how many ranks and micro-batches there are; leave --stages and --micro-batches out");
    }
    a.name = o.file;
    return read_program(Document::read(o.file));
  }
  a.schedule = schedule_named(o.schedule);
  if (!a.schedule) {
    std::vector<std::string_view> known;
    for (int s = 0; s <= static_cast<int>(Schedule::looped_bfs); ++s) known.push_back(to_string(static_cast<Schedule>(s)));
    const std::string close = did_you_mean(o.schedule, known);
    throw InputError(fmt::format("--schedule: \"{}\" is not a schedule; write one of {}{}", o.schedule,
                                 fmt::join(known, ", "), close.empty() ? "" : fmt::format(" (did you mean {}?)", close)));
  }
  a.name = to_string(*a.schedule);
  if (!o.stages || !o.micro_batches) throw InputError("write both --stages and --micro-batches, or --file");
  return build_program(*a.schedule, {*o.stages, *o.micro_batches, o.chunks, o.group});
}

StageWork rank_cost(const Options& o, std::optional<Bytes> boundary) {
  StageWork rank;
  rank.forward = time_of("--tf", o.forward);
  rank.input_gradient = time_of("--tb", o.input_gradient);
  rank.weight_gradient = time_of("--tw", o.weight_gradient);
  rank.recompute = time_of("--recompute", o.recompute);
  rank.forward_communication = time_of("--hidden-forward", o.forward_hidden);
  rank.backward_communication = time_of("--hidden-backward", o.backward_hidden);
  if (rank.forward_communication > rank.forward || rank.backward_communication > rank.input_gradient) {
    throw InputError("--hidden-forward and --hidden-backward are parts of --tf and --tb; write no more than those");
  }
  if (!o.send.empty()) {
    rank.send = time_of("--p2p", o.send);
  } else if (!o.bandwidth.empty()) {
    if (!boundary) throw InputError("--bandwidth: write --p2p, or --hidden and --seq, or --model, to know what is sent");
    const BytesPerSecond rate = parsed("--bandwidth", o.bandwidth, read_bandwidth);
    if (!(rate.si() > 0)) throw InputError("--bandwidth: write more than 0");
    rank.send = *boundary / rate;
  }
  return rank;
}

Split split_of(const Options& o, const Stack& stack, int stages) {
  if (o.split.empty() || o.split == "best") return best_split(stack, stages);
  if (o.split == "even") return even_split(stack, stages);
  Split split = parse_layout(o.split, stack);
  if (split.stages.size() != static_cast<std::size_t>(stages)) {
    throw InputError(fmt::format("--split: {} stages for {}; write {} bars", split.stages.size(), stages, stages - 1));
  }
  return split;
}

Answer answer(const Options& o) {
  Answer a;
  a.program = program_of(o, a);
  std::optional<Architecture> model;
  if (!o.model.empty()) model = read_model(o.model);
  if (!model && !o.split.empty()) throw InputError("--split deals the layers of a model; write --model too");
  const double hidden = model ? static_cast<double>(model->hidden) : static_cast<double>(o.hidden);
  const std::int64_t sequence =
      o.sequence.empty() ? model ? model->context : 0 : parsed("--seq", o.sequence, parse_tokens);
  if (model && sequence <= 0) throw InputError("--seq: write the sequence length; the model does not say one");
  if (hidden > 0 && sequence > 0) {
    a.boundary = boundary_bytes<Plain>(static_cast<double>(o.micro_batch), static_cast<double>(sequence), hidden,
                                       2 * byte, o.tp, o.scatter);
  }
  if (!model && a.boundary) {
    a.passes = gpt_layer_passes<Plain>(static_cast<double>(sequence), static_cast<double>(o.micro_batch), hidden);
  }
  const StageWork rank = rank_cost(o, a.boundary);
  if (rank.send.si() > 0 && a.program.ranks > 1) {
    a.message_chain = message_chain<Plain>(static_cast<double>(a.program.micro_batches), a.program.ranks, rank.send);
  }
  if (!o.gradients.empty() || o.dp != 0 || !o.gradient_bandwidth.empty()) {
    if (o.gradients.empty() || o.dp < 2 || o.gradient_bandwidth.empty())
      throw InputError("write --gradients (bytes of a stage), --dp (2 or more) and --gradient-bandwidth together");
    const Bytes bytes = parsed("--gradients", o.gradients, parse_bytes);
    const BytesPerSecond rate = parsed("--gradient-bandwidth", o.gradient_bandwidth, read_bandwidth);
    if (!(rate.si() > 0)) throw InputError("--gradient-bandwidth: write more than 0");
    a.reduce_once = textbook::ring_reduce_scatter<Plain>(o.dp, bytes).sent / rate;
  }
  std::vector<double> work, layers;
  if (model) {
    a.split = split_of(o, stack_flops(*model, sequence), a.program.depth);
    for (const StageShare& s : a.split->stages) {
      work.push_back(s.work);
      layers.push_back(s.layers);
    }
  }
  a.stages = o.stage_times.empty() ? share_out(rank, a.program.ranks, a.program.depth, work, layers)
                                   : written_stages(o, share_out(rank, a.program.ranks, a.program.depth)[0], a.program.depth);
  a.timeline = simulate(a.program, a.stages, o.blocking ? Messages::blocking : Messages::overlapped);
  if (!(a.timeline.makespan.si() > 0)) throw InputError("every operation takes no time; write --tf, --tb or --tw");
  for (int r = 0; r < a.program.ranks; ++r) a.memory.push_back(memory_of(a.program, a.stages, a.timeline, r));
  if (a.schedule && !o.blocking) {
    a.closed = pipeline_time(*a.schedule, a.program.ranks, a.program.chunks, a.program.micro_batches,
                             stage_times(a.program, a.stages));
  }
  return a;
}

std::string percent(double fraction) { return fmt::format("{:.2f} %", 100 * fraction); }
std::string number(double x) { return fmt::format("{:.4g}", x); }

double peak(const Answer& a) {
  double most = 0;
  for (const RankMemory& m : a.memory) most = std::max(most, m.peak);
  return most;
}

Table summary(const Answer& a) {
  const Timeline& t = a.timeline;
  Table table{.title = fmt::format("{}: {} stages, {} micro-batches{}", a.name, a.program.ranks, a.program.micro_batches,
                                   a.program.chunks > 1 ? fmt::format(", {} chunks a rank", a.program.chunks) : ""),
              .columns = {{"what", false}, {"value"}, {"", false}},
              .rows = {},
              .notes = {}};
  const auto row = [&](std::string what, std::string value, std::string why = "") {
    table.rows.push_back({std::move(what), std::move(value), std::move(why)});
  };
  row("makespan", format(t.makespan), "first start to last end");
  row("ideal", format(t.ideal), "work of the busiest rank");
  row("bubble", format(t.bubble()), "makespan - ideal");
  row("bubble / ideal", percent(t.bubble_over_ideal()));
  row("bubble / total", percent(t.bubble_over_total()));
  if (t.span < t.makespan) {
    row("bubble, own clock", format(t.span - t.ideal), "longest rank from its first start to its last end, - ideal");
  }
  if (a.closed) {
    constexpr double rounding = 1e-9;
    const double off = double(a.closed->makespan / t.makespan) - 1;
    row("closed form", format(a.closed->makespan),
        std::abs(off) < rounding ? "exact" : fmt::format("{:+.2f} % of the makespan", 100 * off));
  }
  row("peak activations", number(peak(a)), "micro-batches of an average rank");
  if (a.boundary) row("message", format(*a.boundary), "bf16 activations of one micro-batch");
  if (a.message_chain) {
    const double full = static_cast<double>(a.program.micro_batches);
    row("messages, one direction", format(*a.message_chain),
        fmt::format("(m + p - 2) c: {:.4g} of m c", (full + a.program.ranks - 2) / full));
  }
  if (a.passes) {
    row("F of a GPT layer", format(a.passes->forward), "sbh(24h + 4s)");
    row("I of it", format(a.passes->input_gradient), fmt::format("{:.4g} F", double(a.passes->input_gradient / a.passes->forward)));
    row("W of it", format(a.passes->weight_gradient), fmt::format("{:.4g} F", double(a.passes->weight_gradient / a.passes->forward)));
  }
  if (a.reduce_once) {
    row("gradients, once", format(*a.reduce_once), "ring reduce-scatter, (d - 1)/d n/B");
    row("gradients, every micro-batch", format(static_cast<double>(a.program.micro_batches) * *a.reduce_once), "as ZeRO-2 in a pipeline does");
  }
  if (a.split) {
    row("split", layout_string(*a.split), "Megatron layout");
    row("slowest stage", percent(a.split->imbalance()), "over the mean, by FLOPs");
  }
  if (a.schedule == Schedule::dualpipe) table.notes.push_back("A rank holds two stages: twice the parameters.");
  return table;
}

Table ranks(const Answer& a) {
  Table table{.title = "",
              .columns = {{"rank"}, {"busy"}, {"idle"}, {"sending"}, {"first start"}, {"last end"}, {"peak held"},
                          {"in flight"}, {"W buffers"}},
              .rows = {},
              .notes = {"Peak held in micro-batches of an average rank; in flight and W buffers count chunks.", convention}};
  for (int r = 0; r < a.program.ranks; ++r) {
    const RankUse& use = a.timeline.ranks[static_cast<std::size_t>(r)];
    const RankMemory& m = a.memory[static_cast<std::size_t>(r)];
    table.rows.push_back({std::to_string(r), format(use.busy), format(a.timeline.idle(r)), format(use.sending),
                          format(use.first_start), format(use.last_end), number(m.peak), std::to_string(m.peak_in_flight),
                          std::to_string(m.peak_weight_buffers)});
  }
  return table;
}

nlohmann::ordered_json json(const Answer& a) {
  const Timeline& t = a.timeline;
  nlohmann::ordered_json j{{"schedule", a.name},
                           {"stages", a.program.ranks},
                           {"chunks", a.program.chunks},
                           {"micro_batches", a.program.micro_batches},
                           {"makespan_s", t.makespan.si()},
                           {"ideal_s", t.ideal.si()},
                           {"bubble_s", t.bubble().si()},
                           {"bubble_over_ideal", t.bubble_over_ideal()},
                           {"bubble_over_total", t.bubble_over_total()},
                           {"span_s", t.span.si()},
                           {"bubble_own_clock_s", (t.span - t.ideal).si()},
                           {"peak_activations", peak(a)}};
  j["counting"] = nlohmann::ordered_json::array({convention});
  if (a.closed) j["closed_form_s"] = a.closed->makespan.si();
  if (a.boundary) j["message_bytes"] = a.boundary->si();
  if (a.message_chain) j["messages_s"] = a.message_chain->si();
  if (a.passes) {
    j["layer_flops"] = {{"forward", a.passes->forward.si()},
                        {"input_gradient", a.passes->input_gradient.si()},
                        {"weight_gradient", a.passes->weight_gradient.si()}};
  }
  if (a.reduce_once) {
    j["gradients_once_s"] = a.reduce_once->si();
    j["gradients_every_micro_batch_s"] = static_cast<double>(a.program.micro_batches) * a.reduce_once->si();
  }
  if (a.split) {
    j["layout"] = layout_string(*a.split);
    j["imbalance"] = a.split->imbalance();
  }
  for (int r = 0; r < a.program.ranks; ++r) {
    const RankUse& use = t.ranks[static_cast<std::size_t>(r)];
    const RankMemory& m = a.memory[static_cast<std::size_t>(r)];
    j["ranks"].push_back({{"rank", r},
                          {"busy_s", use.busy.si()},
                          {"idle_s", t.idle(r).si()},
                          {"sending_s", use.sending.si()},
                          {"first_start_s", use.first_start.si()},
                          {"last_end_s", use.last_end.si()},
                          {"peak_activations", m.peak},
                          {"peak_at_s", m.peak_at.si()},
                          {"peak_in_flight", m.peak_in_flight},
                          {"peak_weight_buffers", m.peak_weight_buffers}});
  }
  return j;
}

// The closed form once more, with its derivation.
std::string explained(const Answer& a) {
  if (!a.closed) throw InputError("--explain: there is a closed form for named schedules with overlapped messages only");
  const StageTimes<Plain> t = stage_times(a.program, a.stages);
  Derivation d;
  const Scope<Traced> scope(d);
  StageTimes<Traced> traced;
  traced.slowest_forward = scope.input("F_slowest", t.slowest_forward, "--tf");
  traced.slowest_backward = scope.input("B_slowest", t.slowest_backward, "--recompute + --tb + --tw");
  traced.slowest_weight = scope.input("W_slowest", t.slowest_weight, "--tw");
  traced.sum_forward = scope.input("F_sum", t.sum_forward, "all ranks");
  traced.sum_backward = scope.input("B_sum", t.sum_backward, "all ranks");
  traced.ranks_after = t.ranks_after;
  traced.sum_after = scope.input("A", t.sum_after, "ranks after the slowest");
  traced.p2p = scope.input("c", t.p2p, "--p2p");
  traced.pair_saving = scope.input("S", t.pair_saving, "--hidden-forward, --hidden-backward");
  return explain(pipeline_time(*a.schedule, a.program.ranks, a.program.chunks, a.program.micro_batches, traced).makespan.why());
}

void report(const Options& o) {
  const Answer a = answer(o);
  if (!o.trace.empty()) write_file(o.trace, trace_json(a.program, a.stages, a.timeline, "napkin: " + a.name));
  if (!o.svg.empty()) write_file(o.svg, timeline_svg(a.program, a.timeline, summary(a).title));
  switch (o.format) {
    case OutputFormat::json: return print(json(a).dump(2) + "\n");
    case OutputFormat::csv: return print(render(ranks(a), o.format));
    case OutputFormat::md: {
      const std::string picture = timeline_text(a.program, a.timeline, o.width);
      return print(render(summary(a), o.format) + "\n" + render(ranks(a), o.format) + "\n```\n" + picture + "```\n");
    }
    case OutputFormat::html:
      print(render(summary(a), o.format) + render(ranks(a), o.format) + html_fragment(timeline_svg(a.program, a.timeline, summary(a).title)));
      if (o.explain) print(explained(a));
      return;
    case OutputFormat::latex:
    case OutputFormat::table: break;
  }
  print(render(summary(a), o.format) + "\n" + render(ranks(a), o.format) + "\n" +
        timeline_text(a.program, a.timeline, o.width));
  if (o.explain) print("\n" + explained(a));
}

}  // namespace

void add_pipeline(CLI::App& app, Session&) {
  CLI::App* command = app.add_subcommand("pipeline", "The timeline of a pipeline schedule: bubble, memory in flight, picture");
  const auto o = std::make_shared<Options>();
  command->add_option("--schedule", o->schedule,
                      "gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-v, interleaved-zb, dualpipe, dualpipe-v or looped-bfs");
  command->add_option("--file", o->file, "A hand-written schedule (JSON) instead of a named one");
  command->add_option("--stages", o->stages, "Pipeline ranks: the PP of a layout");
  command->add_option("--micro-batches", o->micro_batches, "Micro-batches a step");
  command->add_option("--chunks", o->chunks, "Stages a rank holds (interleaved and looped schedules)");
  command->add_option("--group", o->group, "Interleaved: micro-batches a chunk takes in a row (default: the stages)");
  command->add_option("--tf", o->forward, "Forward of one micro-batch on one rank, all chunks: seconds, or \"12 ms\"");
  command->add_option("--tb", o->input_gradient, "Input gradient of the same");
  command->add_option("--tw", o->weight_gradient, "Weight gradient of the same");
  command->add_option("--recompute", o->recompute, "Forward run again at the head of the backward");
  command->add_option("--stage-times", o->stage_times, "F:B:W for each stage, commas between, instead of equal stages");
  command->add_option("--p2p", o->send, "One message between stages");
  command->add_flag("--p2p-blocking", o->blocking, "A rank stands still while it sends");
  command->add_option("--hidden-forward", o->forward_hidden, "DualPipe: part of --tf that a paired backward can hide");
  command->add_option("--hidden-backward", o->backward_hidden, "DualPipe: part of --tb that a paired forward can hide");
  command->add_option("--model", o->model, "A model: splits its layers over the stages by FLOPs");
  command->add_option("--split", o->split, "With --model: best (default), even, or a Megatron layout (\"Et*3|t*4|t*3L\")");
  command->add_option("--seq", o->sequence, "Sequence length, as in 4k");
  command->add_option("--hidden", o->hidden, "Model width, for the size of a message")
      ->check(CLI::Range(1, 100'000'000));
  command->add_option("--micro-batch", o->micro_batch, "Sequences a micro-batch, for the size of a message")
      ->check(CLI::PositiveNumber);
  command->add_option("--tp", o->tp, "Tensor-parallel ranks of a stage")->check(CLI::PositiveNumber);
  command->add_flag("--scatter", o->scatter, "Each tensor-parallel rank sends its part of a message only");
  command->add_option("--bandwidth", o->bandwidth, "Of the link between stages, as in \"50 GB/s\": gives --p2p");
  command->add_option("--gradients", o->gradients, "Bytes of a stage's gradients, as in 6.25GB: reduced once or every micro-batch");
  command->add_option("--dp", o->dp, "Data-parallel ranks that reduce them");
  command->add_option("--gradient-bandwidth", o->gradient_bandwidth, "Of a rank in that reduction, as in \"50 GB/s\"");
  for (const char* name : {"--group", "--stage-times", "--split", "--gradients", "--dp", "--gradient-bandwidth", "--hidden-forward", "--hidden-backward"})
    seldom(command->get_option(name));
  command->add_option("--trace", o->trace, "Write the timeline as trace-event JSON (Perfetto, chrome://tracing)");
  command->add_option("--svg", o->svg, "Write the timeline as SVG");
  command->add_option("--width", o->width, "Columns of the printed timeline")->check(CLI::Range(40, 10000));
  command->add_flag("--explain", o->explain, "Unfold the closed form");
  add_format(*command, o->format);
  command->footer("Examples:\n"
                  "  napkin pipeline --schedule zb-v --stages 4 --micro-batches 8\n"
                  "  napkin pipeline --schedule interleaved --stages 8 --chunks 2 --micro-batches 32 --tb 2 --tw 0 --p2p 0.05");
  command->callback([o] { report(*o); });
}

}  // namespace napkin::cli
