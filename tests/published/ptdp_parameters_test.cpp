// narayanan2021 table 1 and equation 2: P = 12·l·h²·(1 + 13/(12·h) + (V + s)/(12·l·h)).
#include <doctest/doctest.h>

#include "model/transformer/model_input.hpp"
#include "model/transformer/parameters.hpp"

using namespace napkin;

TEST_SUITE("published") {
  TEST_CASE("PTD-P: the ten models of the scaling study") {
    struct Row {
      const char* preset;
      double layers, hidden, billions;  // billions as table 1 prints them
    };
    for (const Row& r : {Row{"megatron-1.7b", 24, 2304, 1.7}, Row{"megatron-3.6b", 30, 3072, 3.6},
                         Row{"megatron-7.5b", 36, 4096, 7.5}, Row{"megatron-18.4b", 40, 6144, 18.4},
                         Row{"megatron-39.1b", 48, 8192, 39.1}, Row{"megatron-76.1b", 60, 10240, 76.1},
                         Row{"megatron-145.6b", 80, 12288, 145.6}, Row{"megatron-310.1b", 96, 16384, 310.1},
                         Row{"megatron-529.6b", 105, 20480, 529.6}, Row{"megatron-1008b", 128, 25600, 1008.0}}) {
      CAPTURE(r.preset);
      const auto total = parameters(read_model(r.preset)).total;
      const double l = r.layers, h = r.hidden, V = 51200, s = 2048;
      const double equation = 12 * l * h * h * (1 + 13 / (12 * h) + (V + s) / (12 * l * h));
      // The equation leaves out the last LayerNorm's 2h.
      CHECK(double(total) - equation == doctest::Approx(2 * h).epsilon(1e-3));
      CHECK(double(total) / 1e9 == doctest::Approx(r.billions).epsilon(0.05 / r.billions));  // the printed digit
    }
  }
}
