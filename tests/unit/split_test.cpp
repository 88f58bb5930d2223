// Uneven splits: never slower than any other cut, and Megatron's way of writing them.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "model/input_error.hpp"
#include "model/pipeline/schedule.hpp"
#include "model/pipeline/split.hpp"
#include "model/pipeline/stack_flops.hpp"
#include "model/step/split.hpp"
#include "model/transformer/model_input.hpp"

using namespace napkin;

namespace {

// The least slowest stage over every way to cut a row of numbers.
double by_trying_all(const std::vector<double>& items, std::size_t begin, int stages) {
  if (stages == 1) {
    double sum = 0;
    for (std::size_t i = begin; i < items.size(); ++i) sum += items[i];
    return sum;
  }
  double best = 1e300, first = 0;
  for (std::size_t end = begin + 1; end + static_cast<std::size_t>(stages) - 1 <= items.size(); ++end) {
    first += items[end - 1];
    best = std::min(best, std::max(first, by_trying_all(items, end, stages - 1)));
  }
  return best;
}

std::string layers_of(const Split& s) {
  std::string text;
  for (const StageShare& stage : s.stages) text += (text.empty() ? "" : " ") + std::to_string(stage.layers);
  return text;
}

std::string refusal(const std::string& layout, const Stack& stack) {
  try {
    (void)parse_layout(layout, stack);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_SUITE("split") {
  TEST_CASE("no other cut has a faster slowest stage") {
    std::mt19937 random(2);
    std::uniform_real_distribution<double> u(0.1, 2);
    for (int round = 0; round < 200; ++round) {
      Stack stack{.embedding = round % 3 == 0 ? 0 : u(random), .layers = {}, .mtp = 0, .mtp_modules = 0, .head = u(random)};
      const int layers = 1 + static_cast<int>(random() % 9);
      for (int i = 0; i < layers; ++i) stack.layers.push_back(u(random));
      if (round % 2 == 0) {
        stack.mtp = u(random);
        stack.mtp_modules = 1;
      }
      std::vector<double> row{stack.embedding};
      row.insert(row.end(), stack.layers.begin(), stack.layers.end());
      if (stack.mtp_modules > 0) row.push_back(stack.mtp);
      row.push_back(stack.head);
      const int stages = 1 + static_cast<int>(random() % row.size());
      const Split split = best_split(stack, stages);
      CHECK(split.slowest == doctest::Approx(by_trying_all(row, 0, stages)));
      CHECK(split.stages.size() == static_cast<std::size_t>(stages));
      CHECK(split.stages.front().embedding);
      CHECK(split.stages.back().head);
      if (stages <= layers) {
        const Split whole = best_split(stack, stages, false);
        CHECK(std::ranges::all_of(whole.stages, [](const StageShare& s) { return s.layers > 0; }));
        CHECK(whole.slowest >= split.slowest - 1e-9);
        CHECK(whole.slowest <= even_split(stack, stages).slowest + 1e-9);
      }
    }
  }

  TEST_CASE("a head of two layers takes two layers' place") {
    const Stack stack{.embedding = 0, .layers = std::vector<double>(30, 1), .mtp = 0, .mtp_modules = 0, .head = 2};
    CHECK(layers_of(best_split(stack, 4)) == "8 8 8 6");
    CHECK(best_split(stack, 4).imbalance() == doctest::Approx(0));
    CHECK(layers_of(even_split(stack, 4)) == "7 8 8 7");
  }

  TEST_CASE("the odd layer goes to a late stage") {
    const Stack stack{.embedding = 0, .layers = std::vector<double>(10, 1), .mtp = 0, .mtp_modules = 0, .head = 0};
    CHECK(layers_of(best_split(stack, 4, false)) == "2 2 3 3");
  }

  TEST_CASE("layout strings") {
    const Stack stack{.embedding = 0, .layers = std::vector<double>(61, 1), .mtp = 1, .mtp_modules = 1, .head = 1};
    for (const char* layout : {"Et*3|(tt|)*29m|L", "Et*15|t*16|t*16|t*14mL", "E|t*30|t*31m|L", "Et*61mL"}) {
      CHECK(layout_string(parse_layout(layout, stack)) == layout);
    }
    // Megatron-LM, custom pipeline layouts: DeepSeek-V3 on PP16 and VPP2.
    const Split v3 = parse_layout("Et*3|(tt|)*29,m|L", stack);
    CHECK(v3.stages.size() == 32);
    CHECK(v3.stages[0].layers == 3);
    CHECK(v3.stages[30].mtp_modules == 1);
    CHECK(v3.stages[31].head);
    std::mt19937 random(4);
    for (int round = 0; round < 100; ++round) {
      const Stack any{.embedding = 0.1, .layers = std::vector<double>(1 + random() % 40, 1), .mtp = 1,
                      .mtp_modules = static_cast<int>(random() % 3), .head = 0.5};
      const Split split = best_split(any, 1 + static_cast<int>(random() % any.layers.size()));
      const Split again = parse_layout(layout_string(split), any);
      CHECK(layers_of(again) == layers_of(split));
      CHECK(again.slowest == doctest::Approx(split.slowest));
    }
  }

  TEST_CASE("layouts that say something else") {
    const Stack stack{.embedding = 0, .layers = std::vector<double>(4, 1), .mtp = 0, .mtp_modules = 0, .head = 1};
    CHECK(refusal("Ett|ttL", stack) == "accepted");
    CHECK(refusal("Ett|tL", stack) == "layout \"Ett|tL\": 3 layers for a model of 4");
    CHECK(refusal("tt|ttL", stack) == "layout \"tt|ttL\": write one E and one L");
    CHECK(refusal("Ett|ttmL", stack) == "layout \"Ett|ttmL\": 1 MTP modules for a model of 0");
    CHECK(refusal("Ett|Ltt", stack) == "layout \"Ett|Ltt\": write E, then t, then m, then L: the order of the model");
    CHECK(refusal("Ett|xxL", stack).ends_with("'x' is none of E (embedding), t (layer), m (MTP), L (loss), |"));
    CHECK(refusal("E(t|*2L", stack).ends_with("parentheses do not match or nest"));
    CHECK(refusal("Et*|L", stack).ends_with("a number of times belongs behind '*'"));
    CHECK(refusal("E(t*99999|)*99999L", stack).ends_with("far more layers than any model has"));
    CHECK_THROWS_AS((void)best_split(stack, 7), InputError);
    CHECK_THROWS_AS((void)best_split(stack, 0), InputError);
    CHECK_THROWS_AS((void)best_split(stack, 5, false), InputError);
  }

  TEST_CASE("the split a step uses is the even split of the pipeline room") {
    const Architecture a = read_model("deepseek-v3");
    for (const int stages : {4, 16, 32, 61, 63}) {
      const Split even = even_split(stack_flops(a, 4096), stages);
      const auto contents = stage_contents(a, stages);
      REQUIRE(contents.size() == even.stages.size());
      for (std::size_t s = 0; s < contents.size(); ++s) {
        CHECK(contents[s].depth() == even.stages[s].layers);
        CHECK(contents[s].embedding == even.stages[s].embedding);
        CHECK(contents[s].head == even.stages[s].head);
        CHECK(contents[s].mtp == even.stages[s].mtp_modules);
      }
    }
    // Balanced: the pipeline layouts of the DeepSeek-V3 recipes of NeMo and Megatron-Bridge, by (PP, VPP), and with 32 stages
    // that of Megatron-LM's documentation.
    const std::pair<int, const char*> published[]{
        {4, "Et*16|t*16|t*16|t*13mL"}, {8, "Et*8|(t*8|)*6t*5mL"}, {16, "Et*4|(t*4|)*14tmL"}, {32, "Et*3|(tt|)*29m|L"}};
    for (const auto& [stages, layout] : published) {
      const Split said = parse_layout(layout, stack_flops(a, 4096));
      const auto contents = stage_contents(a, stages, SplitRule::balanced, 4096);
      REQUIRE(contents.size() == said.stages.size());
      CHECK(is_balanced(a, stages, SplitRule::balanced));
      for (std::size_t s = 0; s < contents.size(); ++s) {
        CHECK(contents[s].depth() == said.stages[s].layers);
        CHECK(contents[s].embedding == said.stages[s].embedding);
        CHECK(contents[s].head == said.stages[s].head);
        CHECK(contents[s].mtp == said.stages[s].mtp_modules);
      }
    }
    // What divides with no, one or both ends counted is dealt evenly; the rest is not, unless the rule says so.
    const Architecture deep = read_model("qwen3-235b-a22b");  // 94 layers
    for (const int stages : {1, 2, 5, 8, 12, 16, 24, 47, 48}) CHECK_FALSE(is_balanced(deep, stages, SplitRule::balanced));
    CHECK(is_balanced(deep, 10, SplitRule::balanced));
    CHECK_FALSE(is_balanced(deep, 10, SplitRule::even));
    CHECK(stage_contents(deep, 8, SplitRule::balanced)[7].depth() == 11);
    int modules = 0;
    for (const StageContent& c : split_layers(a, Schedule::interleaved, 16, 2, SplitRule::balanced, 4096)) modules += c.ranks * c.mtp;
    CHECK(modules == a.mtp_layers);
    // Every rank's layers add up to the model's, whatever the placement.
    for (const Schedule s : {Schedule::interleaved, Schedule::zb_v, Schedule::dualpipe, Schedule::dualpipe_v}) {
      int layers = 0;
      for (const StageContent& c : split_layers(a, s, 16, s == Schedule::dualpipe ? 1 : 2)) layers += c.ranks * c.depth();
      CHECK(layers == (s == Schedule::dualpipe ? 2 : 1) * 61);
    }
  }
}
