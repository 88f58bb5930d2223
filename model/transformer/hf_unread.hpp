// What to do about members of a config.json that no reader asked for. Internal to the hf_*_input files.
#pragma once

#include "model/transformer/hf_config.hpp"

namespace napkin::hf {

// Harmless ones pass. Of a known family, one whose name says structure is refused (InputError), the rest are listed as
// an assumption; of an unknown family every one that is not harmless is refused.
void judge_unread(const Config& c, bool family_is_known);

}  // namespace napkin::hf
