#include "model/step/layout.hpp"

namespace napkin {

std::string_view to_string(Recompute r) {
  switch (r) {
    case Recompute::none: return "none";
    case Recompute::selective: return "selective";
    case Recompute::full: return "full";
  }
  return "none";
}

std::string describe(const Layout& l) {
  std::string s;
  const auto add = [&s](std::string_view name, std::int64_t v, std::int64_t unless) {
    if (v == unless) return;
    if (!s.empty()) s += ' ';
    s += name;
    s += std::to_string(v);
  };
  add("tp", l.tp, 1);
  if (l.sp) s += " sp";
  add("cp", l.cp, 1);
  add("ep", l.ep, 1);
  add("etp", l.etp, 1);
  add("pp", l.pp, 1);
  add("vpp", l.vpp, 1);
  add("dp", l.dp, 0);
  add("zero", l.zero, 0);
  add("shard", l.zero_group, 0);
  add("mb", l.micro_batch, 0);
  if (l.recompute != Recompute::none) (s += ' ') += to_string(l.recompute);
  add("layers", l.recomputed_layers, 0);
  if (l.pp > 1 && l.schedule != Schedule::one_f_one_b && l.schedule != Schedule::interleaved)
    (s += ' ') += to_string(l.schedule);
  const auto word = [&s](std::string_view prefix, std::string_view text) { ((s += ' ') += prefix) += text; };
  if (l.exchange != ExchangeChoice::usual)
    word("cp-", context_exchange_names[static_cast<std::size_t>(l.exchange) - 1]);
  if (l.split != SplitChoice::usual) word("split-", split_rule_names[static_cast<std::size_t>(l.split) - 1]);
  if (l.order != RankOrder::replicas_inside) word("order-", rank_order_names[static_cast<std::size_t>(l.order)]);
  add("offload", l.offloaded_layers, 0);
  if (l.optimizer_offload) word("", "optimizer-offload");
  if ((l.exposed & exposed_tensor_parallel) != 0) word("", "no-tp-overlap");
  if ((l.exposed & exposed_data_parallel) != 0) word("", "no-dp-overlap");
  return s;
}

}  // namespace napkin
