// hardware/tuning/*.json → CollectiveTuning. Compiled in.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "hardware/tuning.hpp"
#include "model/input/document_input.hpp"
#include "model/input/edits_input.hpp"

namespace napkin {

// The library tuning of an accelerator generation; null when none is known (torus machines, machines never measured).
[[nodiscard]] std::shared_ptr<const CollectiveTuning> find_tuning(std::string_view generation,
                                                                         const Edits& edits = {});
// All generations of one tuning file.
[[nodiscard]] std::vector<std::shared_ptr<const CollectiveTuning>> read_tunings(const Document& file);

// The "library" of a hardware file's network: constants of this machine in place of its generation's.
[[nodiscard]] std::shared_ptr<const CollectiveTuning> read_own_library(const Field& f, const CollectiveTuning& generation);

// The fabrics that a tuning file knows, in its order.
[[nodiscard]] std::vector<Fabric> known_fabrics();
// Host time of one collective called through a framework, which hides all that is shorter.
[[nodiscard]] Constant<Seconds> framework_call();

}  // namespace napkin
