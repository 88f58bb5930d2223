// Reading measurements, and the figures of a check. Formats of importers: tests/cli/calibrate-import-*.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "calibrate/import/kernel_name.hpp"
#include "calibrate/samples/check.hpp"
#include "calibrate/samples/csv_input.hpp"
#include "hardware/hardware_input.hpp"

using namespace napkin;
using namespace napkin::fit;

namespace {

// A file of these lines that lives as long as the object.
class Lines {
  std::string path_;

 public:
  explicit Lines(const std::string& text) {
    path_ = (std::filesystem::temp_directory_path() / ("napkin-samples-" + std::to_string(std::hash<std::string>{}(text)))).string();
    std::ofstream(path_) << text;
  }
  ~Lines() { std::filesystem::remove(path_); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  [[nodiscard]] Samples read() const { return read_samples({path_}); }
};

}  // namespace

TEST_SUITE("samples") {
  TEST_CASE("a row becomes the sample that its members say") {
    const Lines file(R"({"kind":"device","name":"X","timer":"cupti","world":8}
{"kind":"gemm","dtype":"bf16","m":16,"n":5,"k":64,"t_s":1e-5,"case":{"m":16,"n":32,"k":64},"regime":"burst"}
{"kind":"attn_bwd","backend":"FLASH_ATTENTION","b":2,"s":128,"hq":8,"hk":2,"d":64,"causal":false,"t_s":2e-5}
{"kind":"copy","moved":4096,"t_s":3e-6,"l2":"warm"}
{"kind":"copy","moved":8192,"t_s":3e-6,"l2":"cold"}
{"kind":"all_reduce","bytes":1024,"t_s":1e-5}
{"kind":"all_reduce","bytes":1024,"world":2,"algo":"Ring","proto":"LL","t_s":1e-5}
{"kind":"skipped","reason":"no room"}
)");
    const auto s = file.read();
    REQUIRE(s.kernels.size() == 3);
    CHECK(s.kernels[0].gemm.n.si() == 32);  // a count of repetitions may stand under "n" of the row
    CHECK(s.kernels[0].regime == Regime::burst);
    CHECK_FALSE(s.kernels[0].host_timed);
    CHECK(s.kernels[1].kernel == "fa2");
    CHECK(s.kernels[1].pass == Pass::backward);
    CHECK_FALSE(s.kernels[1].attention.causal);
    CHECK(s.kernels[2].bytes.si() == 8192);
    REQUIRE(s.collectives.size() == 2);
    CHECK(s.collectives[0].ranks == 8);
    CHECK(s.collectives[1].ranks == 2);
    REQUIRE(s.collectives[1].method);
    CHECK(*s.collectives[1].method == Method{Algorithm::ring, Protocol::ll});
    CHECK(s.unused.at("copy, cached operands") == 1);
    CHECK(s.unused.at("skipped") == 1);
    CHECK_FALSE(s.regime_stated);
  }

  TEST_CASE("what the header says of all rows holds of those that do not say otherwise") {
    const Lines file(R"({"kind":"device","name":"X","world":2,"rows":{"timer":"cupti","l2":"warm"}}
{"kind":"copy","moved":4096,"t_s":3e-6}
{"kind":"copy","moved":8192,"t_s":3e-6,"l2":"cold"}
{"kind":"write","moved":8192,"t_s":3e-6,"l2":"cold","timer":"events"}
{"kind":"all_reduce","bytes":1024,"t_s":1e-5}
)");
    const auto s = file.read();
    REQUIRE(s.kernels.size() == 2);
    CHECK_FALSE(s.kernels[0].host_timed);
    CHECK(s.kernels[1].host_timed);
    CHECK(s.kernels[1].traffic == Traffic::fill);
    CHECK(s.unused.at("copy, cached operands") == 1);
    CHECK(s.collectives.at(0).kernel_alone);
    CHECK_FALSE(s.device.contains("rows"));
  }

  TEST_CASE("a host-timed kernel shorter than four calls is not compared") {
    const Lines file(R"({"kind":"device","name":"X"}
{"kind":"launch","what":"one element","t_s":2e-5}
{"kind":"copy","moved":1e9,"t_s":2.4e-4}
{"kind":"copy","moved":1e6,"t_s":2.2e-5}
)");
    const auto report = check(read_hardware("h200"), file.read(), 0, Regime::burst);
    CHECK(report.short_calls == 1);
    for (const auto& g : report.groups) CHECK(g.residual.n == 1);
  }

  TEST_CASE("errors are of the prediction against the measurement, the worst group first") {
    const auto h = read_hardware("h200");
    Samples s;
    for (const double x : {1e8, 2e8, 4e8}) {
      auto good = memory_sample(Traffic::stream, x, 1), bad = memory_sample(Traffic::cast, x, 1);
      good.seconds = predict(h.accelerator, good, Regime::burst);
      bad.seconds = predict(h.accelerator, bad, Regime::burst) / 1.5;
      s.kernels.push_back(good);
      s.kernels.push_back(bad);
    }
    auto odd = attention_sample("nobody", {1.0, 128.0, 128.0, 8.0, 8.0, 64.0, 64.0}, Pass::forward, 1);
    s.kernels.push_back(odd);
    const auto report = check(h, s, 0, Regime::burst);
    REQUIRE(report.groups.size() >= 2);
    CHECK(report.groups.front().residual.bias == doctest::Approx(0.5));
    CHECK(report.groups.back().group == "memory stream");
    CHECK(report.groups.back().residual.median < 1e-12);
    for (const auto& g : report.groups)
      if (g.group == "memory cast") CHECK(g.residual.bias == doctest::Approx(0.5));
    REQUIRE(report.refused.size() == 1);
    CHECK(report.refused.begin()->first.find("nobody") != std::string::npos);
  }

  TEST_CASE("names of kernels tell their operators") {
    const struct {
      const char* name;
      KernelRole role;
      const char *detail, *dtype;
    } rows[] = {{"nvjet_tst_256x128_64x4_2x1_v_bz_coopA_NNT", KernelRole::gemm, "", "bf16"},
                {"sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32", KernelRole::gemm, "", "fp16"},
                {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>", KernelRole::attention_forward, "fa2", ""},
                {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16", KernelRole::attention_backward, "cudnn", "fp16"},
                {"ncclDevKernel_AllGather_RING_LL", KernelRole::collective, "all_gather", ""},
                {"void multi_tensor_apply_kernel<FusedAdamMathFunctor<float>>", KernelRole::optimizer, "", ""},
                {"my_own_kernel", KernelRole::unknown, "", ""}};
    for (const auto& row : rows) {
      CAPTURE(row.name);
      const auto k = read_kernel_name(row.name);
      CHECK(k.role == row.role);
      CHECK(k.detail == row.detail);
      CHECK(k.dtype == row.dtype);
    }
  }

  TEST_CASE("CSV cells may be quoted") {
    const auto cells = split_csv(R"(1,"a, b","say ""x""",)");
    REQUIRE(cells.size() == 4);
    CHECK(cells[1] == "a, b");
    CHECK(cells[2] == "say \"x\"");
    CHECK(cells[3].empty());
  }

  TEST_CASE("what cannot be read names its line") {
    for (const auto* text : {R"({"kind":"gemm","dtype":"bf16","m":1,"n":1,"k":1})", R"({"kind":"gemm","dtype":"bf16","m":1,"n":1,"k":-1,"t_s":1})",
                             R"({"kind":"all_reduce","bytes":8,"t_s":1e-5})", "[1]", "{"}) {
      const Lines file(std::string("{\"kind\":\"device\"}\n") + text + "\n");
      CAPTURE(text);
      try {
        (void)file.read();
        FAIL("read");
      } catch (const InputError& e) {
        CHECK(std::string(e.what()).find(":2:") != std::string::npos);
      }
    }
  }
}
