// Element-wise operators of a transformer, our own kernels: checked against the host before they are timed.
#include <cmath>
#include <random>
#include <set>

#include "calibrate/measure/cuda/bench.hpp"
#include "calibrate/measure/reference.hpp"

namespace napkin::measure {
namespace {

constexpr double bf16_tolerance = 8e-3, fp32_tolerance = 1e-5;
constexpr std::size_t two = 2, four = 4;  // bytes of bf16, fp32

struct Sizes {
  std::size_t x, second, y;  // bytes
};
Sizes sizes(const std::string& op, std::size_t tokens, std::size_t h) {
  const std::size_t all = tokens * h * two;
  if (op == "rms_norm") return {all, h * two, all};
  if (op == "softmax") return {all, 0, all};
  if (op == "swiglu") return {2 * all, 0, all};
  if (op == "rope") return {all, tokens * kernels::rope_head * four, all};
  if (op == "add") return {all, all, all};
  if (op == "cast_fp32") return {all, 0, 2 * all};
  throw Unsupported("no element-wise operator " + op);
}

void launch_operator(const std::string& op, const void* x, const void* second, void* y, int tokens, int h, cudaStream_t s) {
  if (op == "rms_norm") return kernels::rms_norm(x, second, y, tokens, h, s);
  if (op == "softmax") return kernels::softmax(x, y, tokens, h, s);
  if (op == "swiglu") return kernels::swiglu(x, y, tokens, h, s);
  if (op == "rope") return kernels::rope(x, second, y, tokens, h, s);
  if (op == "add") return kernels::add(x, second, y, tokens, h, s);
  return kernels::cast_fp32(x, y, tokens, h, s);
}

class ElementwiseBench final : public Bench {
  Context& c_;
  std::set<std::string> checked_;

  struct Prepared {
    Launch launch;
    double moved;
  };

  Prepared prepared(const Json& shape) {
    if (shape.at("kind") == "adamw_fused_fp32") {
      const auto n = shape.at("params").get<std::size_t>();
      const std::size_t room = Arena::rounded(n * four);
      c_.inputs.begin(room, kernels::Type::fp32, c_.stream);
      c_.results.begin(3 * room, kernels::Type::fp32, c_.stream);
      const auto* g = static_cast<const float*>(c_.inputs.take(n * four));
      auto *w = static_cast<float*>(c_.results.take(n * four)), *m = static_cast<float*>(c_.results.take(n * four)), *v = static_cast<float*>(c_.results.take(n * four));
      constexpr std::uint64_t seed = 3;
      constexpr std::uint8_t small = 0x38;  // 0x38383838 is 4.4e-5: a second moment is above zero
      kernels::fill_random(kernels::Type::fp32, w, 2 * room, seed, c_.stream);
      kernels::fill_bytes(small, v, n * four, c_.stream);
      constexpr double arrays_moved = 7;  // w, g, m, v read; w, m, v written
      return {[=](cudaStream_t s) { kernels::adam(w, g, m, v, n, {}, s); }, arrays_moved * four * static_cast<double>(n)};
    }
    const auto op = shape.at("op").get<std::string>();
    const int tokens = shape.at("tokens").get<int>(), h = shape.at("h").get<int>();
    const auto b = sizes(op, static_cast<std::size_t>(tokens), static_cast<std::size_t>(h));
    c_.inputs.begin(Arena::rounded(b.x) + Arena::rounded(b.second), kernels::Type::bf16, c_.stream);
    c_.results.begin(Arena::rounded(b.y), kernels::Type::bf16, c_.stream);
    const void *x = c_.inputs.take(b.x), *second = c_.inputs.take(b.second);
    void* y = c_.results.take(b.y);
    return {[=](cudaStream_t s) { launch_operator(op, x, second, y, tokens, h, s); }, static_cast<double>(b.x + b.second + b.y)};
  }

  // A small problem on fresh random values, the output poisoned before.
  void check_operator(const std::string& op, int h) {
    constexpr int tokens = 5;
    const auto b = sizes(op, tokens, h);
    std::mt19937 random(std::random_device{}());
    std::normal_distribution<double> normal;
    std::vector<std::uint16_t> x(b.x / two);
    std::vector<double> x_exact;
    for (auto& v : x) v = reference::to_bf16(normal(random)), x_exact.push_back(reference::from_bf16(v));
    std::vector<double> second_exact;
    std::vector<std::byte> second(b.second);
    if (op == "rope") {
      auto* f = reinterpret_cast<float*>(second.data());
      for (std::size_t i = 0; i < b.second / four; ++i) f[i] = static_cast<float>(normal(random)), second_exact.push_back(f[i]);
    } else {
      auto* u = reinterpret_cast<std::uint16_t*>(second.data());
      for (std::size_t i = 0; i < b.second / two; ++i) u[i] = reference::to_bf16(normal(random)), second_exact.push_back(reference::from_bf16(u[i]));
    }
    const Buffer dx(b.x), ds(std::max<std::size_t>(b.second, 16)), dy(b.y);
    check(cudaMemcpyAsync(dx.data(), x.data(), b.x, cudaMemcpyHostToDevice, c_.stream));
    check(cudaMemcpyAsync(ds.data(), second.data(), b.second, cudaMemcpyHostToDevice, c_.stream));
    constexpr int poison = 0xff;  // NaN in every format
    check(cudaMemsetAsync(dy.data(), poison, b.y, c_.stream));
    launch_operator(op, dx.data(), ds.data(), dy.data(), tokens, h, c_.stream);
    check(cudaGetLastError());
    std::vector<std::byte> raw(b.y);
    check(cudaMemcpyAsync(raw.data(), dy.data(), b.y, cudaMemcpyDeviceToHost, c_.stream));
    c_.synchronise();
    std::vector<double> got;
    for (std::size_t i = 0; i < std::size_t{tokens} * h; ++i)
      got.push_back(op == "cast_fp32" ? reinterpret_cast<const float*>(raw.data())[i]
                                      : reference::from_bf16(reinterpret_cast<const std::uint16_t*>(raw.data())[i]));
    verdict(op, reference::relative_error(got, reference::elementwise(op, x_exact, second_exact, tokens, h)), bf16_tolerance);
  }

  void check_adam() {
    constexpr std::size_t n = 4096;
    std::mt19937 random(std::random_device{}());
    std::normal_distribution<float> normal;
    std::vector<std::vector<float>> host(4, std::vector<float>(n));  // w, g, m, v
    for (auto& array : host)
      for (float& v : array) v = normal(random);
    for (float& v : host[3]) v = std::abs(v);
    std::vector<Buffer> device;
    for (const auto& array : host) {
      check(cudaMemcpyAsync(device.emplace_back(n * four).data(), array.data(), n * four, cudaMemcpyHostToDevice, c_.stream));
    }
    const auto at = [&](std::size_t i) { return static_cast<float*>(device[i].data()); };
    const kernels::AdamStep s;
    kernels::adam(at(0), at(1), at(2), at(3), n, s, c_.stream);
    check(cudaGetLastError());
    std::vector<float> weight(n), first(n), second(n);
    for (const auto& [to, i] : {std::pair{&weight, 0}, {&first, 2}, {&second, 3}})
      check(cudaMemcpyAsync(to->data(), at(static_cast<std::size_t>(i)), n * four, cudaMemcpyDeviceToHost, c_.stream));
    c_.synchronise();
    std::vector<double> got, wanted;
    for (std::size_t i = 0; i < n; ++i) {
      const auto r = reference::adam({host[0][i], host[2][i], host[3][i]}, host[1][i], s.rate, s.beta1, s.beta2, s.epsilon, s.decay, s.correction1, s.correction2);
      wanted.insert(wanted.end(), {r.weight, r.first, r.second});
      got.insert(got.end(), {weight[i], first[i], second[i]});
    }
    verdict("adam", reference::relative_error(got, wanted), fp32_tolerance);
  }

  static void verdict(const std::string& op, double error, double tolerance) {
    if (!(error <= tolerance))
      throw std::runtime_error(op + ": the kernel's result is off by " + std::to_string(error) + " of its norm, " + std::to_string(tolerance) + " allowed");
  }

 public:
  explicit ElementwiseBench(Context& c) : c_(c) {}
  Outcome measure(const Case& c) override {
    const auto op = c.shape.value("op", "adam");
    if (!checked_.contains(op)) {
      if (op == "adam") {
        check_adam();
      } else {
        // Narrow and wide rows are kernels of their own.
        for (const int h : {384, 4000, 8320}) check_operator(op, op == "rope" ? h / 128 * 128 : h);
      }
      checked_.insert(op);
    }
    const auto p = prepared(c.shape);
    auto out = c_.sample(p.launch, is_cold(c.shape));
    out.more["moved"] = static_cast<std::int64_t>(p.moved);
    out.more["checked"] = true;
    return out;
  }
  Work prepare(const Case& c) override {
    auto p = prepared(c.shape);
    return {std::move(p.launch), {{"moved", static_cast<std::int64_t>(p.moved)}}};
  }
};

}  // namespace

std::unique_ptr<Bench> elementwise_bench(Context& context) { return std::make_unique<ElementwiseBench>(context); }

}  // namespace napkin::measure
