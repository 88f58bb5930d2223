// The textbook algorithms on a placed group: what runs where no tuned library is known, and what can be asked for.
#pragma once

#include "model/collective/placement.hpp"

namespace napkin {

// Whether the α–β model knows `algorithm` for `operation` on this placement; `switch_reduces`: the innermost tier does.
[[nodiscard]] bool alpha_beta_runs(Operation operation, const Placement& p, bool switch_reduces, Algorithm algorithm);

// α is the hop of the outermost tier that the group crosses. A ring leaves each node once, through all of the group's
// NICs there: B = min(inner, egress). In the other algorithms every member may talk across at once: B = its own share.
template <class K>
[[nodiscard]] CollectiveCost<K> alpha_beta_cost(const Scope<K>& scope, Operation operation, BytesT<K> bytes,
                                                const Placement& p, const Links<K>& links, Algorithm algorithm);

}  // namespace napkin
