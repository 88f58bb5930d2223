#include <doctest/doctest.h>

#include <cmath>

#include "model/collective/order_statistics.hpp"
#include "model/kernel/attention_bounds.hpp"
#include "model/kernel/kernel.hpp"
#include "model/memory/adapters.hpp"
#include "model/memory/budget.hpp"
#include "model/memory/number_format.hpp"
#include "model/step/experts.hpp"
#include "model/step/limits.hpp"
#include "model/step/overlap.hpp"
#include "model/step/rule_of_thumb.hpp"

using namespace napkin;

namespace {
const Scope<Plain> plain_scope;
const FlopsPerSecond peak = FlopsPerSecond::si(989e12);
const BytesPerSecond wire = BytesPerSecond::si(450e9);
}  // namespace

TEST_SUITE("rules of thumb") {
  TEST_CASE("the critical batch is where the roofline bends") {
    const ElementBytes<Plain> b{2 * byte, 1 * byte, 2 * byte};
    const auto at = ridge(peak, BytesPerSecond::si(3.35e12));
    const Scalar m = exact_critical_rows(at, Scalar(8192), Scalar(8192), b);
    const auto r = roofline(product_flops(m, Scalar(8192), Scalar(8192)), product_bytes(m, Scalar(8192), Scalar(8192), b), Scalar(1), peak, BytesPerSecond::si(3.35e12));
    CHECK(r.math.si() == doctest::Approx(r.memory.si()));
    CHECK(critical_rows(at, 1 * byte) < m);  // activations only add bytes
  }

  TEST_CASE("waves fill their units or not") {
    const auto w = waves(Scalar(4096), Scalar(4096), Scalar(128), Scalar(256), Scalar(132));
    CHECK(w.tiles.si() == 512);
    CHECK(w.waves.si() == 4);
    CHECK(w.tile_efficiency.si() == 1);
  }

  TEST_CASE("the intensity of fused attention is its FLOPs over its bytes") {
    for (const double queries : {1.0, 64.0, 8192.0})
      for (const double group : {1.0, 8.0}) {
        const AttentionShape<Plain> s{1, queries, 8192, group, 1, 128, 128, false, 0};
        const double bytes = 2 * (2 * queries * group + 2 * 8192.0) * 128;
        CHECK(fused_intensity(Scalar(queries), Scalar(8192), Scalar(group), 2 * byte).si() == doctest::Approx(attention_flops(s).si() / bytes));
      }
  }

  TEST_CASE("at the least block a hop of the ring is just hidden") {
    const auto c = least_ring_block(peak, wire, Scalar(4), true, 2 * byte);
    const auto p = context_parallel(64 * c, Scalar(64), Scalar(32), Scalar(8), Scalar(128), 2 * byte, true, peak, wire);
    CHECK(p.hop.si() == doctest::Approx(p.block.si()));
    CHECK(p.exposed.si() <= 1e-9 * p.ring_time.si());
  }

  TEST_CASE("ZeRO at its ends, and recipes that add up") {
    const auto recipe = *recipe_named("bf16");
    CHECK(recipe.total() == 16);
    for (int zero = 0; zero < 4; ++zero)
      CHECK(state_budget(plain_scope, recipe, Scalar(1e9), Scalar(1), zero).total.si() == doctest::Approx(16e9));
    CHECK(state_budget(plain_scope, recipe, Scalar(1e9), Scalar(64), 3).total.si() == doctest::Approx(16e9 / 64));
    CHECK(bytes_per_parameter(plain_scope, recipe, Scalar(1e9), 1).si() == doctest::Approx(4));
    for (const auto& r : training_recipes()) CHECK(r.total() >= 8);
  }

  TEST_CASE("activations: sequence parallelism divides all of them") {
    const auto at = [](ActivationRule rule, double tp, bool sp) {
      return layer_activations(rule, Scalar(2048), Scalar(2048), Scalar(12288), Scalar(96), Scalar(tp), sp).si();
    };
    CHECK(at(ActivationRule::none, 8, true) == doctest::Approx(at(ActivationRule::none, 1, true) / 8));
    CHECK(at(ActivationRule::none, 1, false) == doctest::Approx(at(ActivationRule::none, 1, true)));
    CHECK(at(ActivationRule::selective, 1, true) == doctest::Approx(34.0 * 2048 * 12288));
    CHECK(layers_in_flight(Scalar(96), Scalar(8), Scalar(64), Scalar(1)).si() == 96);
    CHECK(layers_in_flight(Scalar(96), Scalar(8), Scalar(2), Scalar(1)).si() == 24);
  }

  TEST_CASE("bits with their scales") {
    const auto bits = [](const char* name) { return bits_per_element(plain_scope, *quant_format_named(name)).si(); };
    CHECK(bits("mxfp4") == 4.25);
    CHECK(bits("mxfp8") == 8.25);
    CHECK(bits("nvfp4") == 4.5);
    CHECK(bits("nf4") == 4.5);
    CHECK(bits("nf4-double") == doctest::Approx(4.127).epsilon(0.001));
    CHECK(partial_speedup(Scalar(1), Scalar(2)).si() == 2);
    CHECK(partial_speedup(Scalar(0), Scalar(2)).si() == 1);
  }

  TEST_CASE("adapters count the linears they are put on") {
    const auto all = layer_linears(4096, 32, 8, 128, 14336, true);
    CHECK(all.size() == 7);
    double weights = 0;
    for (const auto& l : all) weights += l.in * l.out;
    CHECK(weights == 4096.0 * (4096 * 2 + 2 * 1024 + 3 * 14336));
    CHECK(adapter_parameters(plain_scope, {all[0]}, Scalar(8), Scalar(32)).si() == 8 * 32 * 8192);
  }

  TEST_CASE("limits: a wire twice as fast halves the tokens that FSDP needs and doubles TP") {
    const auto alpha = wire_intensity(peak, wire, Scalar(1)), half = wire_intensity(peak, 2 * wire, Scalar(1));
    CHECK(data_parallel_tokens(alpha, Scalar(1), Scalar(1), Scalar(1)).si() == doctest::Approx(2 * data_parallel_tokens(half, Scalar(1), Scalar(1), Scalar(1)).si()));
    CHECK(2 * tensor_parallel_limit(alpha, Scalar(28672)).si() == doctest::Approx(tensor_parallel_limit(half, Scalar(28672)).si()));
    CHECK(width_for(alpha, tensor_parallel_limit(alpha, Scalar(28672))).si() == doctest::Approx(28672));
  }

  TEST_CASE("with the tokens that hide the gradients nothing is exposed, whatever the model") {
    const auto h = hiding_tokens(Scalar(256), 2 * byte, 2 * byte, peak, wire);
    for (const double p : {1e9, 70e9}) {
      const auto w = data_parallel_work(Scalar(p), h.all_reduce, Scalar(256), Scalar(1), 2 * byte, 2 * byte, false, peak, wire);
      CHECK(w.ratio.si() == doctest::Approx(1));
      CHECK(w.exposed.si() <= 1e-9 * w.backward.si());
    }
  }

  TEST_CASE("a step without parallelism is its FLOPs") {
    const auto e = step_estimate(plain_scope, Scalar(7e9), Scalar(8), Scalar(4096), Scalar(1), Scalar(32), Scalar(4096), {}, peak, wire, wire);
    CHECK(e.exposed.si() == doctest::Approx(6 * 7e9 * 8 * 4096 / 989e12));
    CHECK(e.bubble.si() == 0);
  }

  TEST_CASE("experts: distinct places, drops, touched") {
    CHECK(expected_places(Scalar(8), Scalar(1)).si() == doctest::Approx(1));
    CHECK(expected_places(Scalar(8), Scalar(1000)).si() == doctest::Approx(8));
    CHECK(dropped_share(Scalar(1.3), Scalar(1.3)).si() == 0);
    CHECK(dropped_share(Scalar(1.3), Scalar(1)).si() == doctest::Approx(0.075));
    CHECK(experts_touched(Scalar(256), Scalar(8), Scalar(1)).si() == doctest::Approx(8));
  }

  TEST_CASE("explained and plain are the same numbers") {
    Derivation derivation;
    const Scope<Traced> s(derivation);
    const auto ranks = s.input("n", 1024), sigma = s.input("sigma", 0.02);
    CHECK(expected_maximum(ranks, sigma).si() == expected_maximum(Scalar(1024), Scalar(0.02)).si());
    const StepShape shape{.tp = 8, .pp = 4, .dp = 32};
    const auto t = step_estimate(s, s.input("P", 100e9), s.input("B", 1024), s.input("s", 4096), s.input("b", 1), s.input("L", 80), s.input("h", 10240), shape, s.input("r", peak), s.input("W", wire), s.input("V", wire));
    const auto p = step_estimate(plain_scope, Scalar(100e9), Scalar(1024), Scalar(4096), Scalar(1), Scalar(80), Scalar(10240), shape, peak, wire, wire);
    CHECK(t.exposed.si() == p.exposed.si());
    CHECK(t.exposed.why() != nullptr);
  }
}
