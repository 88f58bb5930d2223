#include "hardware/tuning_input.hpp"

#include <algorithm>

#include "model/input/embedded.hpp"

namespace napkin {

namespace {

constexpr std::int64_t schema_version = 1;
constexpr std::array<std::string_view, protocol_count> protocol_names{"ll", "ll128", "simple"};

std::shared_ptr<const Source> read_source(const Field& group) {
  constexpr std::array<std::string_view, 4> names{"datasheet", "measured", "fitted", "assumed"};
  const Field kind = group["kind"];
  const std::string word = kind.string();
  const auto at = std::find(names.begin(), names.end(), word);
  if (at == names.end()) kind.fail("is \"" + word + "\"; write one of datasheet, measured, fitted, assumed");
  return std::make_shared<const Source>(
      Source{.kind = static_cast<Evidence>(at - names.begin()), .text = group["source"].string()});
}

// Constants that share the source of their group; a member {"value", "source", "kind"} has its own.
class Constants {
  Field group_;
  std::shared_ptr<const Source> source_;

  template <class Read>
  auto constant(const Field& f, Read read) const -> Constant<decltype(read(f))> {
    std::string file = f.file();
    if (file.ends_with(".json")) file.resize(file.size() - 5);
    const std::string place = file + '#' + f.pointer();
    if (!f.is(Field::Type::object)) return {.value = read(f), .place = place, .source = source_};
    f.only({"value", "source", "kind"});
    return {.value = read(f["value"]), .place = place, .source = read_source(f)};
  }

 public:
  Constants(Field group, std::shared_ptr<const Source> source) : group_(std::move(group)), source_(std::move(source)) {}
  [[nodiscard]] Constant<Seconds> seconds(std::string_view key) const {
    return constant(group_[key], [](const Field& f) { return f.seconds(); });
  }
  [[nodiscard]] Constant<Bytes> bytes(std::string_view key) const {
    return constant(group_[key], [](const Field& f) {
      const Bytes b = f.bytes();
      if (b.si() <= 0) f.fail("is " + f.raw() + "; write a size above zero");
      return b;
    });
  }
  [[nodiscard]] Constant<Scalar> number(std::string_view key) const {
    return constant(group_[key], [](const Field& f) {
      const double v = f.number();
      if (v < 0) f.fail("is " + f.raw() + "; write a number that is not negative");
      return Scalar(v);
    });
  }
};

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
  common.only({"tree_base", "ring_base", "tree_node", "ring_node", "tree_net", "ring_net", "nvls", "nvls_net",
               "nvls_tree_net", "collnet_node", "collnet_net", "pat_base", "pat_rank", "pat_net", "tree_share",
               "ring_ll_share", "ll128_share", "tree_ll_divisor", "tree_ll128_node", "tree_ll128_net", "pat_share",
               "source", "kind"});
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
  f.only({"ring", "tree_net", "gather_copy", "chunk", "net_rings", "nvls_base", "nvls_share", "nvls_tree_members",
          "direct", "one_shot", "two_shot", "source", "kind"});
  const auto source = read_source(f);
  const Constants all(f, source);
  const Field ring = f["ring"], tree_net = f["tree_net"];
  ring.only({"ll", "ll128", "simple"});
  tree_net.only({"ll", "ll128", "simple", "source", "kind"});
  const Constants net(tree_net, tree_net.has("source") ? read_source(tree_net) : source);
  for (std::size_t i = 0; i < protocol_count; ++i) {
    const Field g = ring[protocol_names[i]];
    g.only({"base", "hop", "net_hop", "ramp", "ramp_size", "share", "net_share"});
    const Constants c(g, source);
    t.ring[i] = {.base = c.seconds("base"),
                 .hop = c.seconds("hop"),
                 .net_hop = c.seconds("net_hop"),
                 .ramp = c.seconds("ramp"),
                 .ramp_size = c.bytes("ramp_size"),
                 .share = c.number("share"),
                 .net_share = c.number("net_share")};
    t.tree_net[i] = net.seconds(protocol_names[i]);
  }
  t.gather_copy = all.number("gather_copy");
  t.chunk = all.bytes("chunk");
  t.net_rings = all.number("net_rings");
  if (t.estimate.nvls_efficiency > 0) {
    t.nvls_base = all.seconds("nvls_base");
    t.nvls_share = all.number("nvls_share");
    t.nvls_tree_members = all.number("nvls_tree_members");
  }
  const Field direct = f["direct"];
  direct.only({"base", "per_peer", "ramp", "ramp_size", "share", "copy"});
  const Constants d(direct, source);
  t.direct = {.base = d.seconds("base"),
              .per_peer = d.seconds("per_peer"),
              .ramp = d.seconds("ramp"),
              .ramp_size = d.bytes("ramp_size"),
              .share = d.number("share"),
              .copy = d.number("copy")};
  const auto custom = [&](std::string_view key, std::optional<CustomConstants>& out) {
    if (const auto g = f.find(key)) {
      g->only({"base", "per_peer", "share", "source", "kind"});
      const Constants c(*g, g->has("source") ? read_source(*g) : source);
      out = {.base = c.seconds("base"), .per_peer = c.seconds("per_peer"), .share = c.number("share")};
    }
  };
  custom("one_shot", t.one_shot);
  custom("two_shot", t.two_shot);
}

}  // namespace

std::vector<std::shared_ptr<const CollectiveTuning>> read_tunings(const Document& file) {
  const Field root = file.root();
  root.only({"schema", "notes", "estimate", "generations"});
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

std::shared_ptr<const CollectiveTuning> find_tuning(std::string_view generation) {
  const std::string quoted = '"' + std::string(generation) + '"';
  for (const auto& f : embedded::collective_tunings()) {
    if (f.text.find(quoted) == f.text.npos) continue;  // spares parsing the others
    for (auto& t : read_tunings(Document::parse(f.text, std::string(f.name) + ".json")))
      if (t->generation == generation) return t;
  }
  return nullptr;
}

}  // namespace napkin
