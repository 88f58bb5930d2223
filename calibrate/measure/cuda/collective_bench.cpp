// Collectives through NCCL, every device of this process a rank, or under mpirun every process one. `bytes` follows nccl-tests: the larger buffer of a rank
// (all-gather: what it receives, reduce-scatter: what it gives, all-to-all: what it sends to all ranks, itself included).
#include <nccl.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "calibrate/measure/cuda/bench.hpp"
#include "calibrate/measure/world.hpp"

namespace napkin::measure {
namespace {

struct Nccl {
  Library library;
  template <class F>
  F get(const char* name) const {
    return library.symbol<F>(name);
  }
#define NAPKIN_NCCL(f) decltype(&::f) f = get<decltype(&::f)>(#f)
  explicit Nccl(const std::string& folders) : library({"libnccl.so.2", "libnccl.so"}, folders) {}
  NAPKIN_NCCL(ncclGetVersion);
  NAPKIN_NCCL(ncclGetUniqueId);
  NAPKIN_NCCL(ncclCommInitRank);
  NAPKIN_NCCL(ncclCommDestroy);
  NAPKIN_NCCL(ncclGetErrorString);
  NAPKIN_NCCL(ncclGetLastError);
  NAPKIN_NCCL(ncclGroupStart);
  NAPKIN_NCCL(ncclGroupEnd);
  NAPKIN_NCCL(ncclAllReduce);
  NAPKIN_NCCL(ncclAllGather);
  NAPKIN_NCCL(ncclReduceScatter);
  NAPKIN_NCCL(ncclBroadcast);
  NAPKIN_NCCL(ncclSend);
  NAPKIN_NCCL(ncclRecv);
#undef NAPKIN_NCCL
  void check(ncclResult_t r, const char* what) const {
    if (r == ncclSuccess) return;
    const char* last = ncclGetLastError(nullptr);
    const auto text = std::string(what) + ": NCCL: " + ncclGetErrorString(r) + (last == nullptr || *last == 0 ? "" : std::string(": ") + last);
    if (r == ncclInvalidUsage || r == ncclInvalidArgument) throw Unsupported(text);
    throw std::runtime_error(text);
  }
};

// An environment variable for as long as a communicator is made.
class Setting {
  const char* name_;
  std::optional<std::string> before_;

 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) before_ = old;
    if (value != "auto") setenv(name, value.c_str(), 1);
  }
  ~Setting() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
};

class OnDevice {
  int back_ = 0;

 public:
  explicit OnDevice(int device) {
    check(cudaGetDevice(&back_));
    check(cudaSetDevice(device));
  }
  ~OnDevice() { cudaSetDevice(back_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
};

// A rank of this process in a group.
struct Rank {
  int device;
  std::size_t at;  // in the group
  ncclComm_t comm = nullptr;
};

class CollectiveBench final : public Bench {
  Context& c_;
  std::vector<int> devices_;
  const World& world_;
  Nccl nccl_;
  struct Place {
    Stream stream;
    Buffer send{}, receive{};
  };
  std::vector<Place> places_;  // one a device
  std::string made_;           // what groups_ was made for
  std::vector<std::vector<Rank>> groups_;  // of each the ranks that this process is, perhaps none

  // Of all processes.
  [[nodiscard]] std::size_t ranks() const { return world_.alone() ? devices_.size() : static_cast<std::size_t>(world_.size()); }
  // The device of a rank, when it is this process's.
  [[nodiscard]] std::optional<int> device_of(std::size_t rank) const {
    if (world_.alone()) return devices_[rank];
    return rank == static_cast<std::size_t>(world_.rank()) ? std::optional(devices_.front()) : std::nullopt;
  }

  void drop_communicators() {
    for (auto& group : groups_)
      for (auto& rank : group)
        if (rank.comm != nullptr) nccl_.ncclCommDestroy(rank.comm);
    groups_.clear();
    made_.clear();
  }

  void make_communicators(const Json& shape) {
    const auto world = shape.at("world").get<std::size_t>(), count = shape.at("groups").get<std::size_t>();
    const auto algorithm = shape.at("algo").get<std::string>(), protocol = shape.at("proto").get<std::string>();
    const auto wanted = std::to_string(world) + ' ' + std::to_string(count) + ' ' + algorithm + ' ' + protocol;
    if (made_ == wanted) return;
    drop_communicators();
    if (world * count > ranks()) throw Unsupported("fewer devices than ranks");
    const Setting a("NCCL_ALGO", algorithm), p("NCCL_PROTO", protocol);
    std::vector<ncclUniqueId> ids(count);
    if (world_.first())
      for (auto& id : ids) nccl_.check(nccl_.ncclGetUniqueId(&id), "naming a communicator");
    world_.share(ids.data(), count * sizeof ids.front());
    groups_.resize(count);
    nccl_.check(nccl_.ncclGroupStart(), "starting a group");
    for (std::size_t g = 0; g < count; ++g)
      for (std::size_t at = 0; at < world; ++at)
        if (const auto device = device_of(g * world + at)) groups_[g].push_back({*device, at});
    for (std::size_t g = 0; g < count; ++g)
      for (auto& rank : groups_[g]) {
        check(cudaSetDevice(rank.device));
        nccl_.check(nccl_.ncclCommInitRank(&rank.comm, static_cast<int>(world), ids[g], static_cast<int>(rank.at)), "making a communicator");
      }
    nccl_.check(nccl_.ncclGroupEnd(), "making the communicators");
    made_ = wanted;
  }

  // Buffers of every rank here. Where one has no room for them no rank goes on, or the others would wait for it.
  void make_room(std::size_t bytes) {
    std::string error;
    try {
      for (const auto& group : groups_)
        for (const auto& rank : group) {
          check(cudaSetDevice(rank.device));
          auto& p = places_[place_of(rank.device)];
          if (p.send.bytes() >= bytes) continue;
          p.send.reserve(bytes);
          p.receive.reserve(bytes);
          constexpr std::uint64_t seed = 7;
          kernels::fill_random(kernels::Type::bf16, p.send.data(), p.send.bytes(), seed, p.stream);
          check(cudaGetLastError());
        }
    } catch (const CudaError& e) {
      if (e.fatal) throw;
      error = e.what();
    }
    for (const auto& each : world_.texts(error))
      if (!each.empty()) throw std::runtime_error(each);
  }

  std::size_t place_of(int device) const {
    return static_cast<std::size_t>(std::find(devices_.begin(), devices_.end(), device) - devices_.begin());
  }

  void enqueue(const std::string& kind, const Rank& rank, std::size_t world, std::size_t bytes) {
    auto& p = places_[place_of(rank.device)];
    void *send = p.send.data(), *receive = p.receive.data();
    constexpr std::size_t element = 2;  // bf16
    const auto part = bytes / world;
    const auto peer = [&](std::size_t i) { return static_cast<int>(i % world); };
    if (kind == "all_reduce") {
      nccl_.check(nccl_.ncclAllReduce(send, receive, bytes / element, ncclBfloat16, ncclSum, rank.comm, p.stream), "all-reduce");
    } else if (kind == "all_gather") {
      nccl_.check(nccl_.ncclAllGather(send, receive, part, ncclInt8, rank.comm, p.stream), "all-gather");
    } else if (kind == "reduce_scatter") {
      nccl_.check(nccl_.ncclReduceScatter(send, receive, part / element, ncclBfloat16, ncclSum, rank.comm, p.stream), "reduce-scatter");
    } else if (kind == "broadcast") {
      nccl_.check(nccl_.ncclBroadcast(send, receive, bytes, ncclInt8, 0, rank.comm, p.stream), "broadcast");
    } else if (kind == "send_recv") {
      nccl_.check(nccl_.ncclSend(send, bytes, ncclInt8, peer(rank.at + 1), rank.comm, p.stream), "send");
      nccl_.check(nccl_.ncclRecv(receive, bytes, ncclInt8, peer(rank.at + world - 1), rank.comm, p.stream), "receive");
    } else {
      for (std::size_t i = 0; i < world; ++i) {
        nccl_.check(nccl_.ncclSend(static_cast<std::byte*>(send) + i * part, part, ncclInt8, peer(i), rank.comm, p.stream), "send");
        nccl_.check(nccl_.ncclRecv(static_cast<std::byte*>(receive) + i * part, part, ncclInt8, peer(i), rank.comm, p.stream), "receive");
      }
    }
  }

  void once(const std::string& kind, std::size_t world, std::size_t bytes, bool marked) {
    if (marked)
      for (const auto& group : groups_)
        for (const auto& rank : group) {
          check(cudaSetDevice(rank.device));
          kernels::mark(places_[place_of(rank.device)].stream);
        }
    nccl_.check(nccl_.ncclGroupStart(), "starting a group");
    for (const auto& group : groups_)
      for (const auto& rank : group) enqueue(kind, rank, world, bytes);
    nccl_.check(nccl_.ncclGroupEnd(), "launching the group");
  }

  void synchronise() {
    for (const auto& group : groups_)
      for (const auto& rank : group) check(cudaStreamSynchronize(places_[place_of(rank.device)].stream));
  }

 public:
  CollectiveBench(Context& c, std::vector<int> devices, const World& world) : c_(c), devices_(std::move(devices)), world_(world), nccl_(c.libraries) {
    for (const int device : devices_) {
      const OnDevice here(device);
      places_.emplace_back();
    }
  }
  ~CollectiveBench() override {
    drop_communicators();
    cudaSetDevice(c_.device);
  }

  Outcome measure(const Case& c) override {
    const auto kind = c.shape.at("kind").get<std::string>();
    const auto bytes = c.shape.at("bytes").get<std::size_t>();
    const auto world = c.shape.at("world").get<std::size_t>();
    constexpr std::size_t element = 2;
    const bool parts = kind == "all_gather" || kind == "reduce_scatter" || kind == "all_to_all";
    if (parts && bytes / world < (kind == "reduce_scatter" ? element : 1)) throw Unsupported("fewer elements than ranks");
    const OnDevice back(c_.device);
    make_communicators(c.shape);
    make_room(bytes);
    constexpr int warm_ups = 3;
    for (int i = 0; i < warm_ups; ++i) once(kind, world, bytes, false);
    synchronise();
    (void)c_.timer.collect();
    Outcome out;
    double longest = 0;
    while (!c_.rule.enough(out.seconds)) {
      const auto n = c_.rule.next_batch(out.seconds);
      for (std::size_t i = 0; i < n; ++i) once(kind, world, bytes, true);
      synchronise();
      const auto all = c_.timer.collect();
      // Ranks start one after another; who starts last waits for nobody: its time is the collective's.
      std::vector<double> slowest_group(n, 0);
      for (const auto& group : groups_) {  // one of which no rank is here is known to others
        std::vector<double> last_to_start(n, std::numeric_limits<double>::infinity());
        for (const auto& rank : group) {
          auto mine = all;
          std::erase_if(mine, [&](const Activity& a) { return a.device != static_cast<std::uint32_t>(rank.device); });
          const auto found = spans(std::move(mine));
          if (found.size() != n)
            throw std::runtime_error("asked for " + std::to_string(n) + " samples, the activity records of device " + std::to_string(rank.device) + " show " + std::to_string(found.size()));
          for (std::size_t i = 0; i < n; ++i) {
            last_to_start[i] = std::min(last_to_start[i], found[i].seconds);
            longest = std::max(longest, found[i].seconds);
          }
        }
        world_.least(last_to_start);
        for (std::size_t i = 0; i < n; ++i) slowest_group[i] = std::max(slowest_group[i], last_to_start[i]);
      }
      out.seconds.insert(out.seconds.end(), slowest_group.begin(), slowest_group.end());
    }
    out.more["timer"] = "cupti";
    out.more["longest_s"] = longest;
    out.more.update(c_.state.now());
    return out;
  }
};

}  // namespace

std::unique_ptr<Bench> collective_bench(Context& context, const std::vector<int>& devices, const World& world) {
  return std::make_unique<CollectiveBench>(context, devices, world);
}

std::string nccl_version(const std::string& libraries) {
  try {
    const Library l({"libnccl.so.2", "libnccl.so"}, libraries);
    int v = 0;
    (void)l.symbol<decltype(&ncclGetVersion)>("ncclGetVersion")(&v);
    return std::to_string(v / 10000) + '.' + std::to_string(v / 100 % 100) + '.' + std::to_string(v % 100);
  } catch (const Unsupported&) {
    return "";
  }
}

}  // namespace napkin::measure
