// A Hugging Face config.json as its readers see it: members under all their names, and a record of which were
// understood. Internal to the hf_*_input files.
#pragma once

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/input/document_input.hpp"

namespace napkin::hf {

// Bounds that no model meets; they keep sums of products inside a double's exact range until parameters.cpp checks.
inline constexpr std::int64_t max_layers = 10'000, max_width = 10'000'000, max_vocab = 100'000'000, max_heads = 100'000,
                              max_experts = 1'000'000, max_tokens = 1'000'000'000'000;

using Names = std::initializer_list<std::string_view>;

class Config {
 public:
  // Unwraps text_config and its like; what stands outside (vision, audio) becomes an assumption.
  explicit Config(const Document& document);

  [[nodiscard]] const std::string& model_type() const { return model_type_; }
  [[nodiscard]] const std::string& architecture() const { return architecture_; }
  [[nodiscard]] const Field& text() const { return text_; }

  // The first of the names that is present and not null; all of them count as understood. "a.b" looks inside a.
  [[nodiscard]] std::optional<Field> find(Names names) const;
  [[nodiscard]] Field need(std::string_view meaning, Names names) const;
  [[nodiscard]] int integer(std::string_view meaning, Names names, std::int64_t at_least, std::int64_t at_most) const;
  [[nodiscard]] int integer_or(Names names, int otherwise, std::int64_t at_least, std::int64_t at_most) const;
  [[nodiscard]] bool flag_or(Names names, bool otherwise) const;
  // A number, or the layer's entry of a list with one per layer.
  [[nodiscard]] std::optional<int> per_layer(Names names, int layer, std::int64_t at_least, std::int64_t at_most) const;
  // tie_word_embeddings, which composite configs may keep outside.
  [[nodiscard]] std::optional<bool> tied() const;
  // Marks members as understood (or as known not to matter).
  void understood(Names names) const;

  // Members of the text part that no reader asked for and that say something: not null, false, 0 or empty.
  [[nodiscard]] std::vector<std::pair<std::string, Field>> unread() const;

  void assume(const std::string& what) const { assumptions_.push_back(what); }
  [[nodiscard]] const std::vector<std::string>& assumptions() const { return assumptions_; }

 private:
  Field root_, text_;
  std::string model_type_, architecture_;
  mutable std::set<std::string, std::less<>> understood_;
  mutable std::vector<std::string> assumptions_;
};

}  // namespace napkin::hf
