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
  if (l.pp > 1 && l.schedule != Schedule::one_f_one_b && l.schedule != Schedule::interleaved)
    (s += ' ') += to_string(l.schedule);
  return s;
}

}  // namespace napkin
