#include "model/pipeline/schedule.hpp"

#include <algorithm>

#include "model/input_error.hpp"
#include "model/pipeline/simulate.hpp"

namespace napkin {

std::string_view to_string(Work w) {
  switch (w) {
    case Work::forward: return "F";
    case Work::backward: return "B";
    case Work::input_gradient: return "I";
    case Work::weight_gradient: return "W";
  }
  return "?";
}

std::string label(const ScheduledOperation& op, int chunks) {
  std::string text(to_string(op.work));
  text += std::to_string(op.micro_batch);
  if (chunks > 1) text += '.' + std::to_string(op.chunk);
  return text;
}

std::vector<int> looped_stages(int p, int v) {
  std::vector<int> stages;
  for (int r = 0; r < p; ++r) {
    for (int c = 0; c < v; ++c) stages.push_back(c * p + r);
  }
  return stages;
}

std::vector<int> v_shaped_stages(int p) {
  std::vector<int> stages;
  for (int r = 0; r < p; ++r) stages.insert(stages.end(), {r, 2 * p - 1 - r});
  return stages;
}

std::vector<int> two_way_stages(int p) {
  std::vector<int> stages;
  for (int r = 0; r < p; ++r) stages.insert(stages.end(), {r, p + (p - 1 - r)});
  return stages;
}

int chunks_of(Schedule s, int asked) {
  const auto exactly = [&](int n) {
    if (asked != 1 && asked != n) {
      throw InputError("schedule " + std::string(to_string(s)) + " holds " + std::to_string(n) +
                       (n == 1 ? " chunk" : " chunks") + " a rank, not " + std::to_string(asked) +
                       (n == 1 ? "; write --schedule interleaved for more" : "; leave --chunks out"));
    }
    return n;
  };
  switch (s) {
    case Schedule::gpipe:
    case Schedule::one_f_one_b:
    case Schedule::zb_h1:
    case Schedule::zb_h2: return exactly(1);
    case Schedule::zb_v:
    case Schedule::dualpipe:
    case Schedule::dualpipe_v: return exactly(2);
    case Schedule::interleaved:
    case Schedule::zb_interleaved:
    case Schedule::looped_bfs: return asked;
  }
  return asked;
}

namespace {

constexpr double most_cells = 2e6;  // stage × micro-batch: 150 MB of timeline

[[noreturn]] void refuse(Schedule s, const std::string& what) {
  throw InputError("schedule " + std::string(to_string(s)) + ": " + what);
}

PipelineProgram generated(Schedule s, const ScheduleShape& shape) {
  switch (s) {
    case Schedule::gpipe: return generate::gpipe(shape);
    case Schedule::one_f_one_b: return generate::one_f_one_b(shape);
    case Schedule::interleaved: return generate::interleaved(shape);
    case Schedule::zb_h1: return generate::zb_h1(shape);
    case Schedule::zb_h2: return generate::zb_h2(shape);
    case Schedule::zb_v: return generate::zb_v(shape);
    case Schedule::zb_interleaved: return generate::zb_interleaved(shape);
    case Schedule::dualpipe: return generate::dualpipe(shape);
    case Schedule::dualpipe_v: return generate::dualpipe_v(shape);
    case Schedule::looped_bfs: return generate::looped_bfs(shape);
  }
  return {};
}

}  // namespace

Placement placement_of(Schedule s, int ranks, int asked) {
  const int v = chunks_of(s, asked);
  switch (s) {
    case Schedule::zb_v:
    case Schedule::dualpipe_v: return {v, ranks * v, v_shaped_stages(ranks)};
    case Schedule::dualpipe: return {v, ranks, two_way_stages(ranks)};
    default: return {v, ranks * v, looped_stages(ranks, v)};
  }
}

void check_shape(Schedule s, const ScheduleShape& asked) {
  if (asked.ranks < 1) refuse(s, std::to_string(asked.ranks) + " stages; write at least 1");
  if (asked.micro_batches < 1) refuse(s, std::to_string(asked.micro_batches) + " micro-batches; write at least 1");
  if (asked.chunks < 1) refuse(s, std::to_string(asked.chunks) + " chunks; write at least 1");
  constexpr int most_chunks = 4096;  // more than any model has layers
  if (asked.chunks > most_chunks) refuse(s, std::to_string(asked.chunks) + " chunks; write at most " + std::to_string(most_chunks));
  const int chunks = chunks_of(s, asked.chunks);
  const std::int64_t p = asked.ranks, m = asked.micro_batches, group = asked.group == 0 ? p : asked.group;
  if (s == Schedule::dualpipe && p % 2 != 0) {
    refuse(s, "needs an even number of ranks to run in both directions, not " + std::to_string(p));
  }
  // Megatron-LM schedules.py: N ≥ PP, and the micro-batches left over from whole groups are none or at least PP.
  if ((s == Schedule::interleaved || s == Schedule::zb_interleaved) && chunks > 1) {
    if (group < p) {
      refuse(s, "groups of " + std::to_string(group) + " micro-batches on " + std::to_string(p) +
                    " stages wait for ever; write a group of at least " + std::to_string(p));
    }
    if (const std::int64_t left = m % group; m > group && left != 0 && left < p) {
      refuse(s, std::to_string(m) + " micro-batches in groups of " + std::to_string(group) + " leave " +
                    std::to_string(left) + " over, fewer than the " + std::to_string(p) +
                    " stages; write a number of micro-batches that leaves none or at least " + std::to_string(p));
    }
  }
}

PipelineProgram build_program(Schedule s, const ScheduleShape& asked) {
  check_shape(s, asked);
  ScheduleShape shape = asked;
  shape.chunks = chunks_of(s, shape.chunks);
  if (shape.group == 0) shape.group = shape.ranks;
  const double cells = static_cast<double>(shape.ranks) * shape.chunks * static_cast<double>(shape.micro_batches);
  if (cells > most_cells) {
    refuse(s, std::to_string(shape.ranks) + " stages, " + std::to_string(shape.chunks) + " chunks and " +
                  std::to_string(shape.micro_batches) +
                  " micro-batches are more operations than can be run one by one; write fewer micro-batches");
  }
  return generated(s, shape);
}

namespace {

std::string named(const PipelineProgram& program, int rank, const ScheduledOperation& op) {
  return label(op, program.chunks) + " on rank " + std::to_string(rank);
}

// Counts each (stage, micro-batch)'s operations as bits; returns the first one that is twice or in nobody's list.
std::string incomplete(const PipelineProgram& program) {
  constexpr unsigned forward = 1, whole = 2, input = 4, weight = 8;
  const auto m = static_cast<std::size_t>(program.micro_batches);
  std::vector<unsigned> done(static_cast<std::size_t>(program.stages()) * m);
  for (int r = 0; r < program.ranks; ++r) {
    for (const ScheduledOperation& op : program.order[static_cast<std::size_t>(r)]) {
      unsigned& seen = done[static_cast<std::size_t>(program.stage(r, op.chunk)) * m +
                            static_cast<std::size_t>(op.micro_batch)];
      const unsigned bit = 1U << static_cast<unsigned>(op.work);
      if ((seen & bit) != 0) return named(program, r, op) + " is there twice";
      seen |= bit;
      if ((seen & whole) != 0 && (seen & (input | weight)) != 0) {
        return named(program, r, op) + ": the backward is there whole and split";
      }
    }
  }
  for (std::size_t j = 0; j < m; ++j) {
    int lane_used = -1;
    for (int r = 0; r < program.ranks; ++r) {
      for (int c = 0; c < program.chunks; ++c) {
        if (done[static_cast<std::size_t>(program.stage(r, c)) * m + j] == 0) continue;
        const int lane = program.lane(program.stage(r, c));
        if (lane_used >= 0 && lane != lane_used) return "micro-batch " + std::to_string(j) + " runs in both directions";
        lane_used = lane;
      }
    }
    for (int r = 0; r < program.ranks; ++r) {
      for (int c = 0; c < program.chunks; ++c) {
        const int stage = program.stage(r, c);
        if (lane_used >= 0 && program.lane(stage) != lane_used) continue;
        const unsigned seen = done[static_cast<std::size_t>(stage) * m + j];
        const auto missing = [&](Work w) {
          return named(program, r, {w, false, static_cast<std::int16_t>(c), static_cast<std::int32_t>(j)}) +
                 " is missing";
        };
        if ((seen & forward) == 0) return missing(Work::forward);
        if (seen == forward) return missing(Work::backward);
        if (seen == (forward | input)) return missing(Work::weight_gradient);
        if (seen == (forward | weight)) return missing(Work::input_gradient);
      }
    }
  }
  return {};
}

}  // namespace

std::string flaw_of(const PipelineProgram& program) {
  if (std::string flaw = incomplete(program); !flaw.empty()) return flaw;
  const std::optional<Stuck> stuck = stuck_at(program);
  if (!stuck) return {};
  const ScheduledOperation& op = program.order[static_cast<std::size_t>(stuck->rank)][stuck->position];
  return "deadlock: " + named(program, stuck->rank, op) + " (operation " + std::to_string(stuck->position + 1) +
         ") waits for " + stuck->awaited + ", which never runs";
}

}  // namespace napkin
