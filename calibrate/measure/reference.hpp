// The element-wise operators on the host, in double: what our kernels are checked against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace napkin::measure::reference {

// Rows of h values. `second`: the norm's weight[h], the other summand[tokens h], or cosines and sines as the kernel takes
// them (rows of 64 cosines, then 64 sines); for swiglu x has rows of gate[h], up[h].
// Throws std::invalid_argument on an unknown operator.
[[nodiscard]] std::vector<double> elementwise(const std::string& op, const std::vector<double>& x, const std::vector<double>& second,
                                              std::size_t tokens, std::size_t h);

struct Adam {
  double weight, first, second;
};
// loshchilov2019, algorithm 2, with bias corrections given.
[[nodiscard]] Adam adam(Adam state, double gradient, double rate, double beta1, double beta2, double epsilon, double decay,
                        double correction1, double correction2);

// bf16, as its upper 16 bits of an fp32: to double, and rounded to nearest even from it.
[[nodiscard]] double from_bf16(std::uint16_t bits);
[[nodiscard]] std::uint16_t to_bf16(double v);

// ‖a − b‖ / ‖b‖; NaN anywhere gives infinity.
[[nodiscard]] double relative_error(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace napkin::measure::reference
