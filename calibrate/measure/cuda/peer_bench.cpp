// Copies from one device to another by the copy engines.
#include "calibrate/measure/cuda/bench.hpp"

namespace napkin::measure {
namespace {

class PeerBench final : public Bench {
  Context& c_;
  std::vector<int> devices_;

  // Both ways: what the machine allows, as it was before when the bench ends with the process.
  static void enable(int from, int to) {
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, from, to));
    if (can == 0) throw Unsupported("device " + std::to_string(from) + " has no peer access to device " + std::to_string(to));
    const auto error = cudaDeviceEnablePeerAccess(to, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled) {
      (void)cudaGetLastError();
    } else {
      check(error);
    }
  }

 public:
  PeerBench(Context& c, std::vector<int> devices) : c_(c), devices_(std::move(devices)) {}
  Outcome measure(const Case& c) override {
    const int from = devices_.at(c.shape.at("from").get<std::size_t>()), to = devices_.at(c.shape.at("to").get<std::size_t>());
    const auto bytes = c.shape.at("bytes").get<std::size_t>();
    struct Back {
      int device;
      ~Back() { cudaSetDevice(device); }
    } const back{c_.device};
    check(cudaSetDevice(to));
    enable(to, from);
    const Buffer target(bytes);
    check(cudaSetDevice(from));
    enable(from, to);
    const Buffer source(bytes);
    const Stream stream;
    constexpr std::uint64_t seed = 5;
    kernels::fill_random(kernels::Type::bytes, source.data(), bytes, seed, stream);
    constexpr int warm_ups = 2;
    const auto copy = [&] { check(cudaMemcpyPeerAsync(target.data(), to, source.data(), from, bytes, stream)); };
    for (int i = 0; i < warm_ups; ++i) copy();
    check(cudaStreamSynchronize(stream));
    (void)c_.timer.collect();
    Outcome out;
    while (!c_.rule.enough(out.seconds)) {
      const auto n = c_.rule.next_batch(out.seconds);
      for (std::size_t i = 0; i < n; ++i) copy();
      check(cudaStreamSynchronize(stream));
      const auto seen = c_.timer.collect();
      if (seen.size() != n)
        throw std::runtime_error("made " + std::to_string(n) + " copies, the activity records show " + std::to_string(seen.size()));
      for (const auto& a : seen) out.seconds.push_back(static_cast<double>(a.end - a.start) * 1e-9);
    }
    out.more["timer"] = "cupti";
    return out;
  }
};

}  // namespace

std::unique_ptr<Bench> peer_bench(Context& context, const std::vector<int>& devices) {
  return std::make_unique<PeerBench>(context, devices);
}

}  // namespace napkin::measure
