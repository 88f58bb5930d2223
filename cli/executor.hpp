// Threads for the search.
#pragma once

#include "model/search/search.hpp"

namespace napkin::cli {

// Blocks handed out one at a time to `threads` threads (0 = one per core). The first exception is rethrown.
[[nodiscard]] Executor threads(unsigned count);

}  // namespace napkin::cli
