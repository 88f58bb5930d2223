// A pipeline schedule as a value: what each rank runs, in which order, and what every operation must wait for.
//
// The model is cut into `depth` stages in a row (a lane). A rank holds `chunks` of them. Micro-batches enter a lane at its
// first stage, cross all stages forward and come back backward. DualPipe has two lanes, one for each direction, and sends
// half of the micro-batches down each; every other schedule has one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/pipeline/pipeline.hpp"

namespace napkin {

// backward computes both gradients; zero-bubble schedules split it (qi2024zerobubble: B and W).
enum class Work : std::uint8_t { forward, backward, input_gradient, weight_gradient };
[[nodiscard]] std::string_view to_string(Work w);  // "F", "B", "I", "W"

struct ScheduledOperation {
  Work work{};
  bool paired{};  // runs together with the rank's next operation; the two start and end as one
  std::int16_t chunk{};
  std::int32_t micro_batch{};
  friend bool operator==(const ScheduledOperation&, const ScheduledOperation&) = default;
};

struct PipelineProgram {
  int ranks{}, chunks{}, depth{};
  std::int64_t micro_batches{};
  std::vector<int> stage_of;  // [rank·chunks + chunk]; stage s of lane l is l·depth + s
  std::vector<std::vector<ScheduledOperation>> order;  // per rank

  [[nodiscard]] int stages() const { return ranks * chunks; }
  [[nodiscard]] int stage(int rank, int chunk) const { return stage_of[static_cast<std::size_t>(rank * chunks + chunk)]; }
  [[nodiscard]] int lane(int stage) const { return stage / depth; }
  [[nodiscard]] bool first(int stage) const { return stage % depth == 0; }
  [[nodiscard]] bool last(int stage) const { return (stage + 1) % depth == 0; }
};

// Which stages a rank holds (p ranks, v chunks).
[[nodiscard]] std::vector<int> looped_stages(int p, int v);  // chunk c of rank r: c·p + r
[[nodiscard]] std::vector<int> v_shaped_stages(int p);       // r and 2p − 1 − r
[[nodiscard]] std::vector<int> two_way_stages(int p);        // r of lane 0 and p − 1 − r of lane 1

// How a schedule lays its stages over the ranks; `asked` chunks a rank as in chunks_of().
struct Placement {
  int chunks = 1, depth = 1;  // chunks a rank; stages of a lane
  std::vector<int> stage_of;  // as in PipelineProgram
};
[[nodiscard]] Placement placement_of(Schedule s, int ranks, int asked);

struct ScheduleShape {
  int ranks = 1;
  std::int64_t micro_batches = 1;
  int chunks = 1;           // v: looped schedules; the V-shaped and two-way ones always hold two
  std::int64_t group = 0;   // interleaved: consecutive micro-batches of one chunk (Megatron's N); 0 = the ranks
};

// The chunks a rank holds under schedule `s` when `asked` are asked for (1 = no wish). InputError when it cannot.
[[nodiscard]] int chunks_of(Schedule s, int asked);

// InputError: a shape that the schedule does not have, whatever its length.
void check_shape(Schedule s, const ScheduleShape& shape);
// The program of a named schedule. InputError: the shape, or more operations than can be run one by one.
[[nodiscard]] PipelineProgram build_program(Schedule s, const ScheduleShape& shape);

// Every operation there once and only once, each micro-batch in one lane, no rank waiting for ever. Returns the first
// violation as one line, or nothing.
[[nodiscard]] std::string flaw_of(const PipelineProgram& program);

// "F3", "B0.1": work, micro-batch and, where a rank holds several, chunk.
[[nodiscard]] std::string label(const ScheduledOperation& op, int chunks);

// The generators, one file each family. Shapes are checked by build_program.
namespace generate {
[[nodiscard]] PipelineProgram gpipe(const ScheduleShape& s);           // huang2019gpipe
[[nodiscard]] PipelineProgram looped_bfs(const ScheduleShape& s);      // lamy-poirier2023
[[nodiscard]] PipelineProgram one_f_one_b(const ScheduleShape& s);     // narayanan2021
[[nodiscard]] PipelineProgram interleaved(const ScheduleShape& s);     // narayanan2021
[[nodiscard]] PipelineProgram zb_h1(const ScheduleShape& s);           // qi2024zerobubble
[[nodiscard]] PipelineProgram zb_h2(const ScheduleShape& s);           // qi2024zerobubble
[[nodiscard]] PipelineProgram zb_interleaved(const ScheduleShape& s);  // ZB-H1 over interleaved stages, as in PyTorch
[[nodiscard]] PipelineProgram zb_v(const ScheduleShape& s);            // qi2024zerobubble, section 6
[[nodiscard]] PipelineProgram dualpipe(const ScheduleShape& s);        // deepseek-ai2024v3
[[nodiscard]] PipelineProgram dualpipe_v(const ScheduleShape& s);      // deepseek-ai2025dualpipe
}  // namespace generate

}  // namespace napkin
