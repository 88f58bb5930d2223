// korthikanti2022, Table 2: activation bytes of one transformer layer under five combinations of techniques.
#include <doctest/doctest.h>

#include "model/step/layer_cost.hpp"
#include "tests/step_fixture.hpp"

using namespace napkin;
using namespace napkin::test;

namespace {

// Saved bytes of a layer under the 2022 kernels: unfused attention, norm outputs kept, no statistics counted.
double saved(const TestJob& t, const LayerKey& key) {
  return layer_cost(Scope<Plain>(), t.job, key, t.model.kinds[0]).saved.si();
}

}  // namespace

TEST_SUITE("published") {
  TEST_CASE("korthikanti2022 Table 2: activations per layer") {
    struct Row {
      int hidden, heads, sequence, micro_batch, tp;
    };
    // 22B, 175B, 530B and 1T of Table 3, and a micro-batch above one.
    for (const Row& r : {Row{6144, 64, 2048, 4, 8}, Row{12288, 96, 2048, 1, 8}, Row{20480, 128, 2048, 1, 8},
                         Row{25600, 160, 2048, 1, 8}, Row{12288, 96, 4096, 3, 4}}) {
      TestJob t(gpt(2, r.hidden, r.heads, 51200), "a100", "megatron-lm", 8, r.sequence, 64, 2022);
      t.profile.saved.norm_statistics.value = 0;  // the paper leaves the statistics out
      const double s = r.sequence, b = r.micro_batch, h = r.hidden, a = r.heads, tp = r.tp, sbh = s * b * h;
      LayerKey key{.tp = 1, .sp = false, .cp = 1, .ep = 1, .etp = 1, .micro_batch = r.micro_batch};
      CAPTURE(h);
      CHECK(saved(t, key) == doctest::Approx(sbh * (34 + 5 * a * s / h)).epsilon(1e-12));
      key.tp = r.tp;
      CHECK(saved(t, key) == doctest::Approx(sbh * (10 + 24 / tp + 5 * a * s / (h * tp))).epsilon(1e-12));
      key.sp = true;
      CHECK(saved(t, key) == doctest::Approx(sbh / tp * (34 + 5 * a * s / h)).epsilon(1e-12));
      key.recompute = Recompute::selective;
      key.modules = recompute_core_attention;
      CHECK(saved(t, key) == doctest::Approx(sbh / tp * 34).epsilon(1e-12));
      key.sp = false;
      CHECK(saved(t, key) == doctest::Approx(sbh * (10 + 24 / tp)).epsilon(1e-12));
      key.recompute = Recompute::full;
      key.modules = 0;
      CHECK(saved(t, key) == doctest::Approx(2 * sbh).epsilon(1e-12));
    }
  }
}
