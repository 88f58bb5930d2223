// The constants of a communication library (NCCL, RCCL) on one accelerator generation. Read by tuning_input.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/constant.hpp"

namespace napkin {

// How a kernel hands data to its peer: `ll` sends 4 bytes of flag with 4 of data, `ll128` 8 with 120, `simple` a whole
// chunk and then one flag.
enum class Protocol : std::uint8_t { ll, ll128, simple };
inline constexpr std::size_t protocol_count = 3;
[[nodiscard]] std::string_view to_string(Protocol p);

// The library's own estimate of a candidate, latency + bytes / bandwidth. It decides what the library runs; it is not
// what napkin predicts (nccl2026tuning).
struct LibraryEstimate {
  using ByProtocol = std::array<Seconds, protocol_count>;
  using ByNodes = std::array<BytesPerSecond, 3>;  // one node, two, more
  ByProtocol tree_base{}, ring_base{};
  ByProtocol tree_node{}, ring_node{};  // per hop inside a node
  ByProtocol tree_net{}, ring_net{};    // per hop between nodes
  double ring_simple_net_factor = 1;    // of the latency of a ring all-reduce over several nodes
  Seconds nvls{}, nvls_net{}, nvls_tree_net{}, collnet_node{}, collnet_net{}, pat_base{}, pat_rank{}, pat_net{};
  ByNodes ll_max{}, ring_ll128_channel{}, tree_ll128_channel{}, tree_channel{}, nvls_tree_channel{};
  BytesPerSecond nvls_channel{};  // fastest speed of a head that the search tries
  double nvls_efficiency = 0;     // 0: the generation has no in-switch reduction
  double channels = 1;            // that the search finds
  double search_share = 1;        // bus bandwidth that the search finds / nominal
  double tree_share = 1, ring_ll_share = 1, ll128_share = 1, tree_ll_divisor = 1, tree_ll128_node = 1,
         tree_ll128_net = 1, pat_share = 1;
};

// What a protocol was measured to take on a ring: a start-up, and per step a hop that hides behind the transfer.
struct RingConstants {
  Constant<Seconds> base;
  Constant<Seconds> hop, net_hop;  // inside a node and between nodes, added to the tier's own latency
  Constant<Seconds> ramp;          // start-up that grows in (channels joining) until a rank's share is `ramp_size`
  Constant<Bytes> ramp_size;
  Constant<Scalar> share;      // of the bandwidth that large messages achieve inside a node
  Constant<Scalar> net_share;  // of what they achieve between nodes
};

// Reduction inside the scale-up switch (NVLS).
struct SwitchConstants {
  Constant<Seconds> base, ramp;  // as RingConstants; the part is the whole vector
  Constant<Bytes> ramp_size;
  Constant<Scalar> share;
  Constant<Scalar> tree_members;  // largest node whose shards climb a tree over several nodes
};

// A transfer to every peer at once (all-to-all, send/recv).
struct DirectConstants {
  Constant<Seconds> base, per_peer, ramp;
  Constant<Bytes> ramp_size;     // of the part for one peer
  Constant<Scalar> share, copy;  // copy: weight of the rank's own part against a part that travels
  // A second start-up of large parts, as RingConstants' ramp; zero where no measurement tells it.
  Constant<Seconds> fill;
  Constant<Bytes> fill_size;
};

// The custom all-reduce of serving engines: every rank reads all vectors (one shot), or 1/n of each (two shots).
struct CustomConstants {
  Constant<Seconds> base, per_peer;
  Constant<Scalar> share;
};

struct CollectiveTuning {
  std::string generation;  // Accelerator::generation
  std::string library;     // "NCCL 2.29"
  LibraryEstimate estimate;
  std::array<RingConstants, protocol_count> ring;
  std::array<Constant<Seconds>, protocol_count> tree_net;  // hop of a tree between nodes, added to the tier's latency
  Constant<Scalar> gather_copy;  // weight of a rank's own part in an out-of-place gather or scatter
  Constant<Scalar> reduce_copy;  // and in an all-reduce of a ring
  Constant<Scalar> chain_hop{.value = 1, .place = {}, .source = {}};  // hop of a broadcast's chain / of a ring, inside a node
  Constant<Bytes> chunk;         // in flight per hop of a pipelined algorithm, all channels together
  Constant<Scalar> net_rings;    // most rings that leave a node, one NIC each
  SwitchConstants nvls;
  DirectConstants direct;
  std::optional<CustomConstants> one_shot, two_shot;
  bool own = false;  // some of the constants below were measured on this machine: its file holds them
};

// Calls f(path, constant) for those that a machine may have of its own: what a run inside one node shows. The path is
// below /network/library in a hardware file.
template <class Tuning, class F>
void for_each_library_constant(Tuning& t, F f) {
  constexpr std::array<const char*, protocol_count> protocols{"ring/ll/", "ring/ll128/", "ring/simple/"};
  for (std::size_t i = 0; i < protocol_count; ++i) {
    const std::string at = protocols[i];
    f(at + "base", t.ring[i].base);
    f(at + "hop", t.ring[i].hop);
    f(at + "ramp", t.ring[i].ramp);
    f(at + "ramp_size", t.ring[i].ramp_size);
    f(at + "share", t.ring[i].share);
  }
  f(std::string("gather_copy"), t.gather_copy);
  f(std::string("reduce_copy"), t.reduce_copy);
  f(std::string("chain_hop"), t.chain_hop);
  f(std::string("direct/base"), t.direct.base);
  f(std::string("direct/per_peer"), t.direct.per_peer);
  f(std::string("direct/ramp"), t.direct.ramp);
  f(std::string("direct/ramp_size"), t.direct.ramp_size);
  f(std::string("direct/share"), t.direct.share);
  f(std::string("direct/copy"), t.direct.copy);
  f(std::string("direct/fill"), t.direct.fill);
  f(std::string("direct/fill_size"), t.direct.fill_size);
}

// A network between nodes whose hop is not the catalog's.
struct Fabric {
  std::string name;  // "infiniband", "efa"
  Constant<Seconds> hop;
};

}  // namespace napkin
