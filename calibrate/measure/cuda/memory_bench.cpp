// Device memory, L2, strides, and the way to and from the host.
#include "calibrate/measure/cuda/bench.hpp"

namespace napkin::measure {
namespace {

class MemoryBench final : public Bench {
  Context& c_;
  Buffer host_{0, true};

  struct Traffic {
    double moved;  // bytes read and written
    Launch launch;
  };

  Traffic traffic(const Json& shape) {
    const auto kind = shape.at("kind").get<std::string>();
    const auto bytes = shape.at("bytes").get<std::size_t>();
    const auto b = static_cast<double>(bytes);
    if (kind == "h2d" || kind == "d2h") {
      host_.reserve(bytes);
      c_.results.begin(Arena::rounded(bytes), kernels::Type::bytes, c_.stream);
      void* device = c_.results.take(bytes);
      void* host = host_.data();
      const bool up = kind == "h2d";
      return {b, [=](cudaStream_t s) {
                check(cudaMemcpyAsync(up ? device : host, up ? host : device, bytes, up ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, s));
              }};
    }
    const std::size_t room = Arena::rounded(bytes);
    if (kind == "triad") {
      c_.inputs.begin(2 * room, kernels::Type::fp32, c_.stream);
      c_.results.begin(room, kernels::Type::fp32, c_.stream);
      void *a = c_.results.take(bytes), *x = c_.inputs.take(bytes), *y = c_.inputs.take(bytes);
      return {3 * b, [=](cudaStream_t s) { kernels::triad(a, x, y, bytes, s); }};
    }
    c_.inputs.begin(room, kernels::Type::fp32, c_.stream);
    c_.results.begin(room, kernels::Type::fp32, c_.stream);
    void *from = c_.inputs.take(bytes), *to = c_.results.take(bytes);
    if (kind == "read") return {b, [=](cudaStream_t s) { kernels::read(from, to, bytes, s); }};
    if (kind == "write") return {b, [=](cudaStream_t s) { kernels::write(to, bytes, s); }};
    if (kind == "copy") return {2 * b, [=](cudaStream_t s) { kernels::copy(to, from, bytes, s); }};
    if (kind == "strided") {
      const int stride = shape.at("stride").get<int>();
      constexpr double sector = 32;  // bytes that the memory hands out at least
      return {b / stride * sector, [=](cudaStream_t s) { kernels::read_strided(from, to, bytes, stride, s); }};
    }
    throw Unsupported("no memory kind " + kind);
  }

 public:
  explicit MemoryBench(Context& c) : c_(c) {}
  Outcome measure(const Case& c) override {
    const auto t = traffic(c.shape);
    auto out = c_.sample(t.launch, is_cold(c.shape));
    out.more["moved"] = static_cast<std::int64_t>(t.moved);
    return out;
  }
  Work prepare(const Case& c) override {
    auto t = traffic(c.shape);
    return {std::move(t.launch), {{"moved", static_cast<std::int64_t>(t.moved)}}};
  }
};

}  // namespace


std::unique_ptr<Bench> memory_bench(Context& context) { return std::make_unique<MemoryBench>(context); }

}  // namespace napkin::measure
