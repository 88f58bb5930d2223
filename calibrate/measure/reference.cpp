#include "calibrate/measure/reference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace napkin::measure::reference {
namespace {

constexpr std::size_t head = 128, half = head / 2;
constexpr double epsilon = 1e-5;

}  // namespace

std::vector<double> elementwise(const std::string& op, const std::vector<double>& x, const std::vector<double>& second, std::size_t tokens, std::size_t h) {
  std::vector<double> y(tokens * h);
  for (std::size_t t = 0; t < tokens; ++t) {
    const double* row = x.data() + t * (op == "swiglu" ? 2 * h : h);
    double* out = y.data() + t * h;
    if (op == "rms_norm") {
      double sum = 0;
      for (std::size_t i = 0; i < h; ++i) sum += row[i] * row[i];
      const double scale = 1 / std::sqrt(sum / static_cast<double>(h) + epsilon);
      for (std::size_t i = 0; i < h; ++i) out[i] = row[i] * scale * second[i];
    } else if (op == "softmax") {
      const double largest = *std::max_element(row, row + h);
      double sum = 0;
      for (std::size_t i = 0; i < h; ++i) sum += out[i] = std::exp(row[i] - largest);
      for (std::size_t i = 0; i < h; ++i) out[i] /= sum;
    } else if (op == "swiglu") {
      for (std::size_t i = 0; i < h; ++i) out[i] = row[i] / (1 + std::exp(-row[i])) * row[h + i];
    } else if (op == "rope") {
      for (std::size_t i = 0; i < h; ++i) {
        const std::size_t at = i % head, angle = at % half;
        const double c = second[t * head + angle], s = second[t * head + half + angle];
        out[i] = at < half ? row[i] * c - row[i + half] * s : row[i] * c + row[i - half] * s;
      }
    } else if (op == "add") {
      for (std::size_t i = 0; i < h; ++i) out[i] = row[i] + second[t * h + i];
    } else if (op == "cast_fp32") {
      std::copy(row, row + h, out);
    } else {
      throw std::invalid_argument("no element-wise operator " + op);
    }
  }
  return y;
}

Adam adam(Adam s, double g, double rate, double beta1, double beta2, double eps, double decay, double correction1, double correction2) {
  s.first = beta1 * s.first + (1 - beta1) * g;
  s.second = beta2 * s.second + (1 - beta2) * g * g;
  s.weight -= rate * (s.first / correction1 / (std::sqrt(s.second / correction2) + eps) + decay * s.weight);
  return s;
}

double from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t to_bf16(double v) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(v));
  const std::uint32_t nearest_even = 0x7fff + ((bits >> 16) & 1);
  return static_cast<std::uint16_t>((bits + nearest_even) >> 16);
}

double relative_error(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (a.at(i) - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  const double error = std::sqrt(difference / std::max(norm, 1e-300));
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

}  // namespace napkin::measure::reference
