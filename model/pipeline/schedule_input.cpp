#include "model/pipeline/schedule_input.hpp"

#include <algorithm>
#include <charconv>

namespace napkin {
namespace {

constexpr std::int64_t most_ranks = 4096, most_chunks = 256, most_micro_batches = 65536;

struct Where {
  int rank, chunk;
};

std::vector<int> stages_from(const Field& placement, int ranks, int chunks) {
  if (placement.is(Field::Type::string)) {
    const std::string name = placement.string();
    if (name == "loop") return looped_stages(ranks, chunks);
    if (name == "v" || name == "two-way") {
      if (chunks != 2) placement.fail("\"" + name + "\" has 2 chunks a rank; write \"chunks\": 2");
      return name == "v" ? v_shaped_stages(ranks) : two_way_stages(ranks);
    }
    placement.fail("\"" + name + "\" is no placement; write loop, v, two-way, or an array of stages for every rank");
  }
  const std::vector<Field> rows = placement.elements();
  if (rows.size() != static_cast<std::size_t>(ranks)) {
    placement.fail(std::to_string(rows.size()) + " rows for " + std::to_string(ranks) + " ranks; write one a rank");
  }
  std::vector<int> stages;
  for (const Field& row : rows) {
    const std::vector<Field> cells = row.elements();
    if (cells.size() != static_cast<std::size_t>(chunks)) {
      row.fail(std::to_string(cells.size()) + " stages; write " + std::to_string(chunks) + ", one a chunk");
    }
    for (const Field& cell : cells) {
      const int stage = static_cast<int>(cell.integer(0, ranks * chunks - 1));
      if (std::ranges::find(stages, stage) != stages.end()) {
        cell.fail("stage " + std::to_string(stage) + " is held twice; write every stage once");
      }
      stages.push_back(stage);
    }
  }
  return stages;
}

class Reader {
  PipelineProgram program_;
  std::vector<Where> where_;  // [stage]

 public:
  explicit Reader(const Field& root) {
    root.only({"schema", "micro_batches", "chunks", "placement", "ranks"});
    (void)root["schema"].integer(1, 1);
    const std::vector<Field> ranks = root["ranks"].elements();
    if (ranks.empty() || ranks.size() > most_ranks) {
      root["ranks"].fail(std::to_string(ranks.size()) + " ranks; write 1 to " + std::to_string(most_ranks));
    }
    program_.ranks = static_cast<int>(ranks.size());
    program_.micro_batches = root["micro_batches"].integer(1, most_micro_batches);
    const auto chunks = root.find("chunks");
    program_.chunks = chunks ? static_cast<int>(chunks->integer(1, most_chunks)) : 1;
    const auto placement = root.find("placement");
    program_.stage_of = placement ? stages_from(*placement, program_.ranks, program_.chunks)
                                  : looped_stages(program_.ranks, program_.chunks);
    const bool two_way = placement && placement->is(Field::Type::string) && placement->string() == "two-way";
    program_.depth = two_way ? program_.ranks : program_.stages();
    where_.resize(static_cast<std::size_t>(program_.stages()));
    for (int r = 0; r < program_.ranks; ++r) {
      for (int c = 0; c < program_.chunks; ++c) where_[static_cast<std::size_t>(program_.stage(r, c))] = {r, c};
    }
    for (const Field& rank : ranks) read_rank(rank);
    if (const std::string flaw = flaw_of(program_); !flaw.empty()) root["ranks"].fail(flaw);
  }
  PipelineProgram take() { return std::move(program_); }

 private:
  void read_rank(const Field& rank) {
    std::vector<ScheduledOperation> order;
    if (rank.is(Field::Type::string)) {
      read_words(rank, order);
    } else {
      for (const Field& part : rank.elements()) read_words(part, order);
    }
    program_.order.push_back(std::move(order));
  }

  void read_words(const Field& field, std::vector<ScheduledOperation>& order) const {
    const std::string text = field.string();
    for (std::size_t at = 0; (at = text.find_first_not_of(" \t\n,", at)) != text.npos;) {
      const std::size_t end = std::min(text.find_first_of(" \t\n,", at), text.size());
      const std::string word = text.substr(at, end - at);
      const std::size_t plus = word.find('+');
      order.push_back(operation(field, word.substr(0, plus)));
      if (plus != word.npos) {
        order.back().paired = true;
        order.push_back(operation(field, word.substr(plus + 1)));
      }
      at = end;
    }
  }

  ScheduledOperation operation(const Field& field, const std::string& word) const {
    std::int64_t stage = 0, micro_batch = 0;
    const char* const end = word.data() + word.size();
    const auto [work_at, bad_stage] = std::from_chars(word.data(), end, stage);
    const std::size_t kind = work_at < end ? std::string_view("FBIW").find(*work_at) : std::string_view::npos;
    const auto [rest, bad_micro_batch] = std::from_chars(std::min(work_at + 1, end), end, micro_batch);
    if (bad_stage != std::errc() || kind == std::string_view::npos || bad_micro_batch != std::errc() || rest != end) {
      field.fail("\"" + word + "\" is no operation; write stage, one of F B I W, and micro-batch, as in 0F3");
    }
    if (stage < 0 || stage >= program_.stages()) {
      field.fail("\"" + word + "\": stage " + std::to_string(stage) + " of " + std::to_string(program_.stages()));
    }
    if (micro_batch < 0 || micro_batch >= program_.micro_batches) {
      field.fail("\"" + word + "\": micro-batch " + std::to_string(micro_batch) + " of " +
                 std::to_string(program_.micro_batches));
    }
    const Where& at = where_[static_cast<std::size_t>(stage)];
    const auto rank = static_cast<int>(program_.order.size());
    if (at.rank != rank) {
      field.fail("\"" + word + "\": stage " + std::to_string(stage) + " is on rank " + std::to_string(at.rank) +
                 ", not on rank " + std::to_string(rank));
    }
    return {static_cast<Work>(kind), false, static_cast<std::int16_t>(at.chunk), static_cast<std::int32_t>(micro_batch)};
  }
};

}  // namespace

PipelineProgram read_program(const Document& document) { return Reader(document.root()).take(); }

}  // namespace napkin
