#include "hardware/tuning_input.hpp"

#include <type_traits>

#include "model/input/constant_input.hpp"
#include "model/input/embedded.hpp"

namespace napkin {

namespace {

constexpr std::int64_t schema_version = 1;
constexpr std::array<std::string_view, protocol_count> protocol_names{"ll", "ll128", "simple"};

Seconds seconds(const Field& f) {
  return f.seconds();
}
Bytes size(const Field& f) {
  const Bytes b = f.bytes();
  if (b.si() <= 0) f.fail("is " + f.raw() + "; write a size above zero");
  return b;
}
Scalar number(const Field& f) {
  const double v = f.number();
  if (v < 0) f.fail("is " + f.raw() + "; write a number that is not negative");
  return v;
}
double positive(const Field& f) {
  const double v = f.number();
  if (v <= 0) f.fail("is " + f.raw() + "; write a number above zero");
  return v;
}

template <class Read>
auto three(const Field& f, Read read) {
  const auto e = f.elements();
  if (e.size() != 3) f.fail("has " + std::to_string(e.size()) + " values; write 3");
  return std::array{read(e[0]), read(e[1]), read(e[2])};
}
auto latencies(const Field& f) {
  return three(f, [](const Field& v) { return v.seconds(); });
}
auto bandwidths(const Field& f) {
  return three(f, [](const Field& v) { return v.bandwidth(); });
}

// `common` holds for every generation of the file, `own` for one.
LibraryEstimate read_estimate(const Field& common, const Field& own) {
  common.only({"tree_base",
               "ring_base",
               "tree_node",
               "ring_node",
               "tree_net",
               "ring_net",
               "nvls",
               "nvls_net",
               "nvls_tree_net",
               "collnet_node",
               "collnet_net",
               "pat_base",
               "pat_rank",
               "pat_net",
               "tree_share",
               "ring_ll_share",
               "ll128_share",
               "tree_ll_divisor",
               "tree_ll128_node",
               "tree_ll128_net",
               "pat_share",
               "source",
               "kind"});
  own.only({"ll_max", "ring_ll128_channel", "tree_ll128_channel", "tree_channel", "nvls_tree_channel", "nvls_channel",
            "nvls_efficiency", "channels", "search_share", "ring_simple_net_factor", "source", "kind"});
  (void)read_source(common);
  (void)read_source(own);
  LibraryEstimate e;
  e.tree_base = latencies(common["tree_base"]);
  e.ring_base = latencies(common["ring_base"]);
  e.tree_node = latencies(common["tree_node"]);
  e.ring_node = latencies(common["ring_node"]);
  e.tree_net = latencies(common["tree_net"]);
  e.ring_net = latencies(common["ring_net"]);
  e.nvls = common["nvls"].seconds();
  e.nvls_net = common["nvls_net"].seconds();
  e.nvls_tree_net = common["nvls_tree_net"].seconds();
  e.collnet_node = common["collnet_node"].seconds();
  e.collnet_net = common["collnet_net"].seconds();
  e.pat_base = common["pat_base"].seconds();
  e.pat_rank = common["pat_rank"].seconds();
  e.pat_net = common["pat_net"].seconds();
  e.tree_share = positive(common["tree_share"]);
  e.ring_ll_share = positive(common["ring_ll_share"]);
  e.ll128_share = positive(common["ll128_share"]);
  e.tree_ll_divisor = positive(common["tree_ll_divisor"]);
  e.tree_ll128_node = positive(common["tree_ll128_node"]);
  e.tree_ll128_net = positive(common["tree_ll128_net"]);
  e.pat_share = positive(common["pat_share"]);
  e.ll_max = bandwidths(own["ll_max"]);
  e.ring_ll128_channel = bandwidths(own["ring_ll128_channel"]);
  e.tree_ll128_channel = bandwidths(own["tree_ll128_channel"]);
  e.tree_channel = bandwidths(own["tree_channel"]);
  e.channels = positive(own["channels"]);
  e.search_share = positive(own["search_share"]);
  e.ring_simple_net_factor = positive(own["ring_simple_net_factor"]);
  if (const auto efficiency = own.find("nvls_efficiency")) {
    e.nvls_efficiency = positive(*efficiency);
    e.nvls_channel = own["nvls_channel"].bandwidth();
    e.nvls_tree_channel = bandwidths(own["nvls_tree_channel"]);
  }
  return e;
}

void read_measured(const Field& f, CollectiveTuning& t) {
  const Group all(f,
                  {"ring", "tree_net", "gather_copy", "reduce_copy", "chunk", "net_rings", "nvls", "direct", "one_shot",
                   "two_shot"});
  const Field ring = f["ring"];
  ring.only({"ll", "ll128", "simple"});
  const Group tree_net(f["tree_net"], {"ll", "ll128", "simple"});
  for (std::size_t i = 0; i < protocol_count; ++i) {
    const Field g = ring[protocol_names[i]];
    g.only({"base", "hop", "net_hop", "ramp", "ramp_size", "share", "net_share"});
    t.ring[i] = {.base = all.constant(g["base"], seconds),
                 .hop = all.constant(g["hop"], seconds),
                 .net_hop = all.constant(g["net_hop"], seconds),
                 .ramp = all.constant(g["ramp"], seconds),
                 .ramp_size = all.constant(g["ramp_size"], size),
                 .share = all.constant(g["share"], number),
                 .net_share = all.constant(g["net_share"], number)};
    t.tree_net[i] = tree_net.required(protocol_names[i], seconds);
  }
  t.gather_copy = all.required("gather_copy", number);
  t.reduce_copy = all.required("reduce_copy", number);
  t.chunk = all.required("chunk", size);
  t.net_rings = all.required("net_rings", number);
  if (t.estimate.nvls_efficiency > 0) {
    const Field g = f["nvls"];
    g.only({"base", "ramp", "ramp_size", "share", "tree_members"});
    t.nvls = {.base = all.constant(g["base"], seconds),
              .ramp = all.constant(g["ramp"], seconds),
              .ramp_size = all.constant(g["ramp_size"], size),
              .share = all.constant(g["share"], number),
              .tree_members = all.constant(g["tree_members"], number)};
  }
  const Field d = f["direct"];
  d.only({"base", "per_peer", "ramp", "ramp_size", "share", "copy"});
  t.direct = {.base = all.constant(d["base"], seconds),
              .per_peer = all.constant(d["per_peer"], seconds),
              .ramp = all.constant(d["ramp"], seconds),
              .ramp_size = all.constant(d["ramp_size"], size),
              .share = all.constant(d["share"], number),
              .copy = all.constant(d["copy"], number)};
  const auto custom = [&](std::string_view key) -> std::optional<CustomConstants> {
    const auto field = f.find(key);
    if (!field) return {};
    const Group g(*field, {"base", "per_peer", "share"});
    return CustomConstants{.base = g.required("base", seconds),
                           .per_peer = g.required("per_peer", seconds),
                           .share = g.required("share", number)};
  };
  t.one_shot = custom("one_shot");
  t.two_shot = custom("two_shot");
}

}  // namespace

std::vector<std::shared_ptr<const CollectiveTuning>> read_tunings(const Document& file) {
  const Field root = file.root();
  root.only({"schema", "notes", "fabrics", "framework_call", "estimate", "generations"});
  if (const auto s = root["schema"]; s.integer(0, 1'000'000) != schema_version)
    s.fail("is " + s.raw() + "; this napkin reads schema 1");
  std::vector<std::shared_ptr<const CollectiveTuning>> out;
  for (const auto& [name, f] : root["generations"].members()) {
    f.only({"library", "estimate", "measured"});
    auto t = std::make_shared<CollectiveTuning>();
    t->generation = name;
    t->library = f["library"].string();
    t->estimate = read_estimate(root["estimate"], f["estimate"]);
    read_measured(f["measured"], *t);
    out.push_back(std::move(t));
  }
  return out;
}

std::shared_ptr<const CollectiveTuning> find_tuning(std::string_view generation, const Edits& edits) {
  const std::string quoted = '"' + std::string(generation) + '"';
  for (const auto& f : embedded::collective_tunings()) {
    if (f.text.find(quoted) == f.text.npos) continue;  // spares parsing the others
    for (auto& t : read_tunings(edits.apply(Document::parse(f.text, std::string(f.name) + ".json"))))
      if (t->generation == generation) return t;
  }
  return nullptr;
}

std::shared_ptr<const CollectiveTuning> read_own_library(const Field& f, const CollectiveTuning& generation) {
  const Group all(f, {"ring", "gather_copy", "reduce_copy", "chain_hop", "direct"});
  if (const auto ring = f.find("ring")) {
    ring->only({"ll", "ll128", "simple"});
    for (const auto name : protocol_names)
      if (const auto p = ring->find(name)) p->only({"base", "hop", "ramp", "ramp_size", "share"});
  }
  if (const auto d = f.find("direct")) d->only({"base", "per_peer", "ramp", "ramp_size", "share", "copy", "fill", "fill_size"});
  auto t = std::make_shared<CollectiveTuning>(generation);
  t->own = true;
  for_each_library_constant(*t, [&](const std::string& path, auto& constant) {
    std::optional<Field> at = f;
    for (std::size_t from = 0; at && from != path.npos;) {
      const auto slash = path.find('/', from);
      at = at->find(path.substr(from, slash == path.npos ? path.npos : slash - from));
      from = slash == path.npos ? path.npos : slash + 1;
    }
    if (!at) return;
    using Value = std::decay_t<decltype(constant.value)>;
    if constexpr (std::is_same_v<Value, Seconds>) constant = all.constant(*at, seconds);
    else if constexpr (std::is_same_v<Value, Bytes>) constant = all.constant(*at, size);
    else constant = all.constant(*at, number);
  });
  return t;
}

namespace {
// Calls read(root) for the files that have `member`.
template <class Read>
void each_tuning_file(std::string_view member, Read read) {
  for (const auto& f : embedded::collective_tunings())
    if (const Document d = Document::parse(f.text, std::string(f.name) + ".json"); d.root().find(member))
      read(d.root());
}
}  // namespace

std::vector<Fabric> known_fabrics() {
  std::vector<Fabric> out;
  each_tuning_file("fabrics", [&](const Field& root) {
    for (const auto& [name, f] : root["fabrics"].members()) {
      const Group g(f, {"hop"});
      out.push_back({.name = name, .hop = g.required("hop", seconds)});
    }
  });
  return out;
}

Constant<Seconds> framework_call() {
  Constant<Seconds> c;
  each_tuning_file("framework_call", [&](const Field& root) {
    c = Group(root["framework_call"], {"time"}).required("time", seconds);
  });
  return c;
}

}  // namespace napkin
