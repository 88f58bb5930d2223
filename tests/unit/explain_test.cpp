#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/derivation_steps.hpp"
#include "cli/explain.hpp"
#include "model/constant.hpp"
#include "model/quantity.hpp"

using namespace napkin;
using namespace napkin::cli;

namespace {
// T_ar = 2(p−1)α + 2(p−1)/p · n/B, as in STYLE §4.
SecondsT<Traced> ring_all_reduce(const Scope<Traced>& s) {
  const auto p = s.input("p", 8);
  const auto alpha = s.input("alpha", 5 * us);
  const auto n = s.input("n", 14 * GB);
  const auto B = s.input("B_nvl", 450 * GB / second, "h200.json#/links/nvlink/bandwidth");
  return let("T_ar", 2 * (p - 1) * alpha + 2 * (p - 1) / p * n / B, "patarasuk2009");
}

const Step& step_named(const std::vector<Step>& steps, std::string_view name) {
  for (const Step& s : steps)
    if (s.name == name) return s;
  FAIL("no step is named ", name);
  return steps.front();
}

std::vector<Step> steps_of(const Node* root) { return derivation_steps({&root, 1}); }

std::string formula(const Node* root) { return without_breaks(steps_of(root).front().formula); }
std::string numbers(const Node* root) { return without_breaks(steps_of(root).front().numbers); }
}  // namespace

TEST_SUITE("explain") {
  TEST_CASE("the example of the manual, to the letter") {
    Derivation d;
    const std::string text = explain(ring_all_reduce(Scope<Traced>(d)).why());
    CHECK(text ==
          "p      = 8\n"
          "alpha  = 5 us\n"
          "n      = 14 GB\n"
          "B_nvl  = 450 GB/s                                           [h200.json#/links/nvlink/bandwidth]\n"
          "T_ar   = 2 * (p - 1) * alpha + 2 * (p - 1) / p * n / B_nvl  [patarasuk2009]\n"
          "       = 2 * (8 - 1) * 5 us + 2 * (8 - 1) / 8 * 14 GB / 450 GB/s\n"
          "       = 54.5 ms\n");
  }

  TEST_CASE("parentheses only where the value needs them") {
    Derivation d;
    const Scope<Traced> s(d);
    const auto a = s.input("a", 2), b = s.input("b", 3), c = s.input("c", 5);
    const auto shown = [&](ScalarT<Traced> q) { return formula(let("x", q).why()); };
    CHECK(shown(a + b + c) == "a + b + c");
    CHECK(shown(a + (b + c)) == "a + b + c");
    CHECK(shown(a + (b - c)) == "a + b - c");
    CHECK(shown(a - (b + c)) == "a - (b + c)");
    CHECK(shown(a - (b - c)) == "a - (b - c)");
    CHECK(shown(a - b - c) == "a - b - c");
    CHECK(shown(a * b / c) == "a * b / c");
    CHECK(shown(a * (b / c)) == "a * b / c");
    CHECK(shown(a / (b * c)) == "a / (b * c)");
    CHECK(shown(a / (b / c)) == "a / (b / c)");
    CHECK(shown((a + b) * c) == "(a + b) * c");
    CHECK(shown(a - b * c) == "a - b * c");
    CHECK(shown(a / (b + c) / c) == "a / (b + c) / c");
    CHECK(shown(ceil(a + b) * c) == "ceil(a + b) * c");
    CHECK(shown(max(max(a, b), c + 1) - min(a, b)) == "max(a, b, c + 1) - min(a, b)");
    CHECK(shown(a * -2.0) == "a * (-2)");
    CHECK(shown(log2(a) + exp(b) + floor(c)) == "log2(a) + exp(b) + floor(c)");
    CHECK(numbers(let("x", (a - c) * s.input("d", -4)).why()) == "(2 - 5) * (-4)");
  }

  TEST_CASE("max and min name the arm that binds") {
    Derivation d;
    const Scope<Traced> s(d);
    const auto compute = s.input("T_compute", 3 * ms), memory = s.input("T_memory", 7 * ms);
    const auto steps = steps_of(let("T", max(compute, memory)).why());
    CHECK(without_breaks(steps.front().numbers) == "max(3 ms, 7 ms)");
    REQUIRE(steps.front().notes.size() == 1);
    CHECK(steps.front().notes[0] == "max = 7 ms: T_memory");
    const auto tie = steps_of(let("T", min(s.input("a", 1), s.input("b", 1))).why());
    CHECK(tie.front().notes.at(0) == "min = 1: a and b");
    const auto inner = steps_of(let("T", 2 * smooth_max(compute, memory) + 1 * ms).why());
    CHECK(without_breaks(inner.front().formula) == "2 * smooth_max(T_compute, T_memory) + 1 ms");
    CHECK(inner.front().notes.at(0).ends_with(": T_memory"));
  }

  TEST_CASE("a choice leaves its reason at the step that took it") {
    Derivation d;
    const Scope<Traced> s(d);
    const auto ring = let("T_ring", s.input("n", 4 * GB) / s.input("B", 2 * GB / second));
    const auto chosen = let("T_ar", 2 * choose("ring beats tree at 4 GB", ring, "chan2007collective"));
    const std::string text = explain(chosen.why());
    CHECK(text.find("T_ar   = 2 * T_ring\n") == 0);
    CHECK(text.find("# ring beats tree at 4 GB [chan2007collective]\n") != text.npos);
    const Node* root = choose("only one", s.input("x", 1) + s.input("y", 2)).why();
    CHECK(explain(root).find("result = x + y\n") != std::string::npos);
    CHECK(explain(root).find("# only one\n") != std::string::npos);
  }

  TEST_CASE("equal derivations are one step, different ones of the same name are told apart") {
    Derivation d;
    const Scope<Traced> s(d);
    const auto square = [&](double v) {
      const auto x = s.input("x", v);
      return let("S", x * x);
    };
    const auto steps = steps_of(let("T", square(2) + square(2) + square(3)).why());
    CHECK(without_breaks(steps.front().formula) == "S + S + S#2");
    CHECK(without_breaks(steps.front().numbers) == "4 + 4 + 9");
    CHECK(steps.size() == 5);  // T, S, x, S#2, x#2
    CHECK(without_breaks(step_named(steps, "S#2").formula) == "x#2 * x#2");
  }

  TEST_CASE("equal terms of a long sum are written once") {
    Derivation d;
    const Scope<Traced> s(d);
    const auto a = let("t_attention", s.input("u", 2 * ms) * 3.0), b = let("t_ffn", s.input("v", 1 * ms) * 4.0);
    SecondsT<Traced> sum = a + b;
    for (int i = 1; i < 80; ++i) sum = sum + a + b;
    const auto steps = steps_of(let("T", sum).why());
    CHECK(without_breaks(steps.front().formula) == "80 * t_attention + 80 * t_ffn");
    CHECK(steps.front().value == doctest::Approx(0.8));
  }

  TEST_CASE("a nameless expression that is used twice becomes a step") {
    Derivation d;
    const Scope<Traced> s(d);
    const auto a = s.input("a", 2), b = s.input("b", 3);
    const auto shared = (a + b) * (a - b) / b;
    const auto steps = steps_of(let("T", shared * shared + shared).why());
    CHECK(without_breaks(steps.front().formula) == "x1 * x1 + x1");
    CHECK(without_breaks(step_named(steps, "x1").formula) == "(a + b) * (a - b) / b");
  }

  TEST_CASE("long formulas are wrapped between terms") {
    Derivation d;
    const Scope<Traced> s(d);
    ScalarT<Traced> sum = 0;
    for (int i = 0; i < 40; ++i) sum = sum + s.input("term_" + std::to_string(i), i);
    const std::string text = explain(let("T", sum).why());
    std::size_t start = 0, terms = 0;
    while (start < text.size()) {
      const std::size_t end = text.find('\n', start);
      CHECK(end - start <= 110);
      const std::string line = text.substr(start, end - start);
      if (line.starts_with("          + term_")) ++terms;
      start = end + 1;
    }
    CHECK(terms >= 2);
  }

  TEST_CASE("linear in the nodes, however they are shared or nested") {
    Derivation d;
    const Scope<Traced> s(d);
    const auto one = s.input("one", 1.0);
    ScalarT<Traced> doubled = one, nested = one, chain = one, right = one;
    for (int i = 0; i < 1000; ++i) doubled = doubled / 2.0 + doubled / 2.0;  // 2^1000 paths
    for (int i = 0; i < 50'000; ++i) nested = 1.0 / (nested + 1.0);          // 100,000 deep
    for (int i = 0; i < 20'000; ++i) chain = chain + s.input("i", i);
    for (int i = 0; i < 20'000; ++i) right = 1.0 + right;
    const Node* const roots[]{doubled.why(), nested.why(), chain.why(), right.why()};
    const auto json = explain_json(roots);
    std::size_t characters = 0;
    for (const auto& step : json)
      if (step.contains("formula")) characters += step["formula"].get<std::string>().size();
    CHECK(characters < 40 * d.size());
    CHECK(explain(roots).size() < 100 * d.size());
    std::size_t dangling = 0;
    for (const auto& step : json)
      if (step.contains("uses"))
        for (const auto& used : step["uses"]) dangling += used.get<std::size_t>() >= json.size();
    CHECK(dangling == 0);
  }

  TEST_CASE("JSON is flat: values in SI, ids for what a formula uses") {
    Derivation d;
    const auto json = explain_json(ring_all_reduce(Scope<Traced>(d)).why());
    REQUIRE(json.size() == 5);
    CHECK(json[0].dump() ==
          R"({"id":0,"name":"T_ar","kind":"step","formula":"2 * (p - 1) * alpha + 2 * (p - 1) / p * n / B_nvl",)"
          R"("substituted":"2 * (8 - 1) * 5 us + 2 * (8 - 1) / 8 * 14 GB / 450 GB/s",)"
          R"("value":0.05451444444444444,"unit":"s","source":"patarasuk2009","uses":[1,2,3,4]})");
    CHECK(json[4].dump() == R"({"id":4,"name":"B_nvl","kind":"input","value":450000000000.0,"unit":"B/s",)"
                            R"("source":"h200.json#/links/nvlink/bandwidth"})");
  }

  TEST_CASE("numbers without a derivation explain nothing") {
    CHECK(explain(nullptr).empty());
    CHECK(explain_json(nullptr).empty());
  }
}
