// Hardware files → Hardware. The catalog is compiled in.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/hardware.hpp"
#include "model/input/document_input.hpp"
#include "model/input/edits_input.hpp"

namespace napkin {

// "h100.json" | "h100" | "./mine.json": a path that exists wins, else the catalog by name or alias (".json" optional).
// An unknown name is refused with the closest one.
// `edits` change constants of the file, of what it extends and of the library's tuning.
[[nodiscard]] Hardware read_hardware(const std::string& what, const Edits& edits = {});
[[nodiscard]] Hardware read_hardware(const Document& file, const Edits& edits = {});
// The same look-up: the document, and its text, verbatim.
[[nodiscard]] Document hardware_document(const std::string& what);
[[nodiscard]] std::string hardware_text(const std::string& what);
// Every complaint about a file, one line each: what read_hardware refuses, section by section, then what is implausible
// (hardware/plausible.hpp). Empty = good.
[[nodiscard]] std::vector<std::string> hardware_problems(const Document& file);

[[nodiscard]] std::vector<std::string> catalog_names();
[[nodiscard]] std::optional<std::string> catalog_text(std::string_view name_or_alias);  // the file, verbatim

}  // namespace napkin
