#include "model/pipeline/split.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "model/input_error.hpp"

namespace napkin {
namespace {

constexpr double rounding = 1e-12;  // sums in another order still count as equal

// The stack as a row of things to cut between: [embedding] layers [MTP modules] [head]. Without ends_alone the embedding is
// one with the first layer, the MTP modules and the head with the last.
struct Row {
  std::vector<StageShare> items;
  std::vector<double> sum{0};
  double between(std::size_t begin, std::size_t end) const { return sum[end] - sum[begin]; }
};

void add_to(StageShare& stage, const StageShare& item) {
  stage.embedding |= item.embedding;
  stage.head |= item.head;
  stage.layers += item.layers;
  stage.mtp_modules += item.mtp_modules;
  stage.work += item.work;
}

Row row_of(const Stack& stack, bool ends_alone) {
  Row row;
  row.items.push_back({.embedding = true, .work = stack.embedding});
  for (const double layer : stack.layers) row.items.push_back({.layers = 1, .work = layer});
  if (stack.mtp_modules > 0) row.items.push_back({.mtp_modules = stack.mtp_modules, .work = stack.mtp});
  row.items.push_back({.head = true, .work = stack.head});
  if (!ends_alone && !stack.layers.empty()) {
    add_to(row.items[1], row.items[0]);
    row.items.erase(row.items.begin());
    while (row.items.size() > stack.layers.size()) {
      add_to(row.items[stack.layers.size() - 1], row.items[stack.layers.size()]);
      row.items.erase(row.items.begin() + static_cast<std::ptrdiff_t>(stack.layers.size()));
    }
  }
  for (const StageShare& item : row.items) row.sum.push_back(row.sum.back() + item.work);
  return row;
}

Split cut(const Row& row, const std::vector<std::size_t>& ends) {
  Split split;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    StageShare stage;
    for (; begin < end; ++begin) add_to(stage, row.items[begin]);
    split.slowest = std::max(split.slowest, stage.work);
    split.stages.push_back(stage);
  }
  split.mean = row.sum.back() / static_cast<double>(split.stages.size());
  return split;
}

// The least slowest stage, within rounding: filling stages up to a limit takes the fewest of them, and fewer than `stages` can
// always be cut further.
double least_slowest(const Row& row, std::size_t stages) {
  const auto fits = [&](double limit) {
    std::size_t used = 1;
    double stage = 0;
    for (const StageShare& item : row.items) {
      if (stage + item.work > limit) {
        if (++used > stages) return false;
        stage = 0;
      }
      stage += item.work;
    }
    return true;
  };
  double low = 0, high = row.sum.back() * (1 + rounding);
  for (const StageShare& item : row.items) low = std::max(low, item.work);
  if (fits(low)) return low;
  while (high - low > rounding / 4 * high) {
    const double middle = low + (high - low) / 2;
    (fits(middle) ? high : low) = middle;
  }
  return high;
}

// The cut into `stages` of no more than `limit` each with the least Σ work². Among equals the last stage takes most. Returns
// the end of every stage.
std::vector<std::size_t> most_even(const Row& row, std::size_t stages, double limit) {
  const std::size_t n = row.items.size();
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<double> cost(n + 1, never);
  cost[0] = 0;
  std::vector<std::vector<std::size_t>> from;
  for (std::size_t stage = 1; stage <= stages; ++stage) {
    std::vector<double> next(n + 1, never);
    std::vector<std::size_t> best(n + 1, 0);
    std::size_t first = stage - 1;  // the earliest beginning within the limit
    for (std::size_t end = stage; end <= n - (stages - stage); ++end) {
      while (row.between(first, end) > limit) ++first;
      for (std::size_t begin = first; begin < end; ++begin) {
        if (cost[begin] == never) continue;
        const double work = row.between(begin, end), c = cost[begin] + work * work;
        if (c < next[end] && (next[end] == never || c < next[end] * (1 - rounding))) {
          next[end] = c;
          best[end] = begin;
        }
      }
    }
    cost = std::move(next);
    from.push_back(std::move(best));
  }
  std::vector<std::size_t> ends(stages);
  std::size_t end = n;
  for (std::size_t stage = stages; stage-- > 0;) {
    ends[stage] = end;
    end = from[stage][end];
  }
  return ends;
}

void refuse_stages(const Stack& stack, int stages, std::size_t items) {
  if (stages >= 1 && static_cast<std::size_t>(stages) <= items) return;
  throw InputError(std::to_string(stages) + " stages for " + std::to_string(stack.layers.size()) +
                   " layers; write 1 to " + std::to_string(items));
}

}  // namespace

Split best_split(const Stack& stack, int stages, bool ends_alone) {
  const Row row = row_of(stack, ends_alone);
  refuse_stages(stack, stages, row.items.size());
  const auto n = static_cast<std::size_t>(stages);
  return cut(row, most_even(row, n, least_slowest(row, n) * (1 + rounding)));
}

std::vector<int> even_depths(std::int64_t layers, int chunks) {
  std::vector<int> depth(static_cast<std::size_t>(chunks), static_cast<int>(layers / chunks));
  std::int64_t rest = layers % chunks;
  const auto give = [&](int c) {
    if (rest == 0) return;
    ++depth[static_cast<std::size_t>(c)];
    --rest;
  };
  for (int c = 1; c + 1 < chunks; ++c) give(c);
  give(0);
  give(chunks - 1);
  return depth;
}

Split even_split(const Stack& stack, int stages) {
  const Row row = row_of(stack, true);
  refuse_stages(stack, stages, stack.layers.size() + 2);
  std::vector<std::size_t> ends;
  std::size_t end = 1;  // behind the embedding
  for (const int depth : even_depths(static_cast<std::int64_t>(stack.layers.size()), stages)) {
    end += static_cast<std::size_t>(depth);
    ends.push_back(end);
  }
  ends.back() = row.items.size();
  return cut(row, ends);
}

// ---- Megatron's layout strings ------------------------------------------------------------------------------------

namespace {

void repeat(std::string& text, char c, int n) {
  if (n <= 2) {
    text.append(static_cast<std::size_t>(n), c);
  } else {
    text += c;
    text += '*';
    text += std::to_string(n);
  }
}

std::string text_of(const StageShare& s) {
  std::string text;
  repeat(text, 'E', s.embedding ? 1 : 0);
  repeat(text, 't', s.layers);
  repeat(text, 'm', s.mtp_modules);
  repeat(text, 'L', s.head ? 1 : 0);
  return text;
}

}  // namespace

std::string layout_string(const Split& split) {
  std::vector<std::string> stages;
  for (const StageShare& s : split.stages) stages.push_back(text_of(s));
  std::string layout;
  for (std::size_t i = 0; i < stages.size();) {
    std::size_t same = 1;
    while (i + same < stages.size() && stages[i + same] == stages[i]) ++same;
    const bool ends = i + same == stages.size();
    // "(tt|)*3" brings its own bars, so the last of a run at the end stands outside.
    const std::size_t folded = ends ? same - 1 : same;
    if (folded >= 3) {
      layout += '(' + stages[i] + "|)*" + std::to_string(folded);
      if (ends) layout += stages[i];
    } else {
      for (std::size_t k = 0; k < same; ++k) layout += stages[i] + (ends && k + 1 == same ? "" : "|");
    }
    i += same;
  }
  return layout;
}

namespace {

constexpr std::size_t longest_layout = 1000000;  // characters, written out

[[noreturn]] void refuse_layout(const std::string& layout, const std::string& why) {
  throw InputError("layout \"" + layout + "\": " + why);
}

// Reads "*12" behind `at`; 1 where there is none.
int times_at(const std::string& layout, std::size_t& at) {
  if (at >= layout.size() || layout[at] != '*') return 1;
  const std::size_t begin = ++at;
  int n = 0;
  while (at < layout.size() && layout[at] >= '0' && layout[at] <= '9' && n < 100000) n = n * 10 + (layout[at++] - '0');
  if (at == begin || n == 0) refuse_layout(layout, "a number of times belongs behind '*'");
  return n;
}

std::string unfolded(const std::string& layout, const std::string& part, bool inside) {
  std::string text;
  for (std::size_t at = 0; at < part.size();) {
    const char c = part[at++];
    if (c == ',' || c == ' ') continue;
    std::string unit(1, c);
    if (c == '(') {
      const std::size_t close = part.find(')', at);
      if (inside || close == part.npos) refuse_layout(layout, "parentheses do not match or nest");
      unit = unfolded(layout, part.substr(at, close - at), true);
      at = close + 1;
    } else if (std::string("EtmL|").find(c) == std::string::npos) {
      refuse_layout(layout, std::string("'") + c + "' is none of E (embedding), t (layer), m (MTP), L (loss), |");
    }
    const auto times = static_cast<std::size_t>(times_at(part, at));
    if (text.size() + times * unit.size() > longest_layout) refuse_layout(layout, "far more layers than any model has");
    for (std::size_t n = 0; n < times; ++n) text += unit;
  }
  return text;
}

}  // namespace

Split parse_layout(const std::string& layout, const Stack& stack) {
  const std::string text = unfolded(layout, layout, false);
  constexpr std::string_view order = "EtmL";
  Split split;
  split.stages.emplace_back();
  std::size_t layers = 0, reached = 0;
  int embeddings = 0, heads = 0, modules = 0;
  for (const char c : text) {
    if (c == '|') {
      split.stages.emplace_back();
      continue;
    }
    StageShare& stage = split.stages.back();
    if (order.find(c) < reached) refuse_layout(layout, "write E, then t, then m, then L: the order of the model");
    reached = order.find(c);
    if (c == 'E') add_to(stage, {.embedding = ++embeddings > 0, .work = stack.embedding});
    if (c == 'L') add_to(stage, {.head = ++heads > 0, .work = stack.head});
    if (c == 'm') {
      ++modules;
      add_to(stage, {.mtp_modules = 1, .work = stack.mtp / std::max(stack.mtp_modules, 1)});
    }
    if (c == 't') {
      if (layers < stack.layers.size()) add_to(stage, {.layers = 1, .work = stack.layers[layers]});
      ++layers;
    }
  }
  if (embeddings != 1 || heads != 1) refuse_layout(layout, "write one E and one L");
  if (layers != stack.layers.size()) {
    refuse_layout(layout, std::to_string(layers) + " layers for a model of " + std::to_string(stack.layers.size()));
  }
  if (modules != stack.mtp_modules) {
    refuse_layout(layout, std::to_string(modules) + " MTP modules for a model of " + std::to_string(stack.mtp_modules));
  }
  for (const StageShare& s : split.stages) {
    split.slowest = std::max(split.slowest, s.work);
    split.mean += s.work / static_cast<double>(split.stages.size());
  }
  return split;
}

}  // namespace napkin
