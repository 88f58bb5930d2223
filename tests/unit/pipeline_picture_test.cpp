// The timeline as text, SVG and trace events.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <map>

#include "cli/pipeline_picture.hpp"
#include "cli/pipeline_trace.hpp"
#include "model/input/document_input.hpp"
#include "model/pipeline/stage_costs.hpp"

using namespace napkin;

namespace {

struct Drawn {
  PipelineProgram program;
  StageWork cost;
  Timeline timeline;
};

Drawn drawn(Schedule s, int ranks, int micro_batches, int chunks = 1) {
  Drawn d{build_program(s, {ranks, micro_batches, chunks, 0}), {}, {}};
  d.cost.forward = d.cost.input_gradient = d.cost.weight_gradient = 1 * ms;
  d.cost.send = 0.1 * ms;
  d.timeline = simulate(d.program, {&d.cost, 1});
  return d;
}

}  // namespace

TEST_SUITE("pipeline picture") {
  TEST_CASE("text") {
    const Drawn d = drawn(Schedule::one_f_one_b, 2, 2);
    StageWork c = d.cost;
    c.send = Seconds{};
    const Timeline t = simulate(d.program, {&c, 1});
    CHECK(cli::timeline_text(d.program, t, 40) ==
          "rank 0 F0 F1 ......B0    ...B1    \n"
          "rank 1 ...F0 B0    F1 B1    ......\n");
    for (const int width : {40, 120, 1000}) {
      const Drawn many = drawn(Schedule::zb_v, 8, 32);
      const std::string text = cli::timeline_text(many.program, many.timeline, width);
      CHECK(text.find('\n') <= static_cast<std::size_t>(width));
    }
  }

  TEST_CASE("SVG has a box for every operation") {
    const Drawn d = drawn(Schedule::dualpipe, 4, 8);
    const std::string svg = cli::timeline_svg(d.program, d.timeline, "a < b & c");
    std::size_t boxes = 0, operations = 0;
    for (std::size_t at = 0; (at = svg.find("</title></rect>", at)) != svg.npos; ++at) ++boxes;
    for (const auto& order : d.program.order) operations += order.size();
    CHECK(boxes == operations);
    CHECK(svg.starts_with("<svg "));
    CHECK(svg.ends_with("</svg>\n"));
    CHECK(svg.find("a &lt; b &amp; c") != svg.npos);
    CHECK(svg.find("nan") == svg.npos);
  }

  // The pictures of docs/pipeline.md are what the tool draws: napkin pipeline --schedule NAME --stages 4 --micro-batches 8 --svg.
  TEST_CASE("pictures in the documentation") {
    for (const auto& [s, name] : {std::pair{Schedule::one_f_one_b, "1f1b"}, {Schedule::zb_v, "zb-v"}}) {
      Drawn d{build_program(s, {4, 8, 1, 0}), {}, {}};
      StageWork rank;
      rank.forward = rank.input_gradient = rank.weight_gradient = 1 * second;
      const auto stages = share_out(rank, 4, d.program.depth);
      d.timeline = simulate(d.program, stages);
      const std::string title = std::string(name) + ": 4 stages, 8 micro-batches" + (d.program.chunks > 1 ? ", 2 chunks a rank" : "");
      std::ifstream file(std::string(NAPKIN_SOURCE_DIR) + "/docs/pipeline-" + name + ".svg");
      const std::string committed{std::istreambuf_iterator<char>(file), {}};
      CHECK(committed == cli::timeline_svg(d.program, d.timeline, title));
    }
  }

  // Trace Event Format (Google, "JSON Object Format"): traceEvents; ph X needs ts, dur, pid, tid; flows s and f share an id.
  TEST_CASE("trace events") {
    for (const Schedule s : {Schedule::one_f_one_b, Schedule::interleaved, Schedule::zb_v, Schedule::dualpipe}) {
      const Drawn d = drawn(s, 4, 8, s == Schedule::interleaved ? 2 : 1);
      const Document document = Document::parse(cli::trace_json(d.program, {&d.cost, 1}, d.timeline, "a \"b\""), "trace.json");
      std::map<std::int64_t, std::pair<double, double>> flows;
      std::size_t slices = 0, threads = 0, counters = 0;
      std::map<std::int64_t, double> busy_until;  // by thread
      std::map<std::int64_t, bool> paired;
      for (const Field& e : document.root()["traceEvents"].elements()) {
        const std::string phase = e["ph"].string();
        CHECK(e["pid"].integer(0, 0) == 0);
        REQUIRE(std::string("MXsfC").find(phase) != std::string::npos);
        CHECK(!e["name"].string().empty());
        if (phase != "M") CHECK(e["ts"].number() >= 0);
        if (phase == "X") {
          ++slices;
          CHECK(e["dur"].number() > 0);
          CHECK(e["tid"].integer(0, 3) >= 0);
          // Slices of a thread follow each other; the two of a pair are one above the other (same start, same end).
          const std::int64_t thread = e["tid"].integer(0, 3);
          const double start = e["ts"].number(), end = start + e["dur"].number();
          const bool nested = s == Schedule::dualpipe && std::abs(end - busy_until[thread]) < 1e-6 && !paired[thread];
          CHECK((nested || start >= busy_until[thread] - 1e-6));
          paired[thread] = nested;
          busy_until[thread] = end;
          CHECK(e["ts"].number() + e["dur"].number() <= d.timeline.makespan.si() * 1e6 * (1 + 1e-9));
          CHECK(e["args"]["micro_batch"].integer(0, 7) >= 0);
          CHECK(e["args"]["chunk"].integer(0, 1) >= 0);
          CHECK(e["args"]["stage"].integer(0, d.program.stages() - 1) >= 0);
        } else if (phase == "s") {
          flows[e["id"].integer(0, 1 << 20)].first = e["ts"].number() + 1;
        } else if (phase == "f") {
          flows[e["id"].integer(0, 1 << 20)].second = e["ts"].number() + 1;
        } else if (phase == "C") {
          ++counters;
          CHECK(e["args"]["held"].number() > -1e-9);
        } else {
          CHECK(phase == "M");
          threads += e["name"].string() == "thread_name" ? 1 : 0;
        }
      }
      std::size_t operations = 0;
      for (const auto& order : d.program.order) operations += order.size();
      CHECK(slices == operations);
      CHECK(threads == 4);
      CHECK(counters > 0);
      CHECK(!flows.empty());
      for (const auto& [id, ends] : flows) {
        CHECK(ends.first >= 1);                        // left …
        CHECK(ends.second >= ends.first + 100 - 1e-6);  // … and arrived a message later
      }
    }
  }
}
