// Where a model comes from: a preset name, a bare size, a Hugging Face config.json, a run record's model object.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/input/document_input.hpp"
#include "model/transformer/architecture.hpp"

namespace napkin {

// "llama3-8b" | "100B" | "100B-moe" | path of a config.json | folder holding one. A path that exists wins.
// InputError names what was tried and the closest preset.
[[nodiscard]] Architecture read_model(const std::string& what);

// A Hugging Face config. Refuses (InputError naming the mechanism) what the model cannot express.
[[nodiscard]] Architecture read_hf_config(const Document& config);

// The `model` of a run record (DESIGN §4): a name or path, or an object; strict, unknown members are errors.
// `seq_len` is the length of a learned position table when the model does not give its context; 0 = not known.
[[nodiscard]] Architecture read_record_model(const Field& model, std::int64_t seq_len = 0);

// A dense (or MoE) shape of about `parameters`, by stated rules; its `assumptions` say which.
[[nodiscard]] Architecture synthesise_dense(double parameters);
[[nodiscard]] Architecture synthesise_moe(double parameters);

[[nodiscard]] std::vector<std::string> preset_names();
[[nodiscard]] std::optional<std::string> preset_text(std::string_view name);  // the file, verbatim

}  // namespace napkin
