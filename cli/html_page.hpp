// --format html: what a command prints becomes one self-contained page: no script, no link, nothing to load.
#pragma once

#include <string>
#include <string_view>

namespace napkin::cli {

// Around a fragment. Control characters do not occur in text: escaping drops them.
inline constexpr char fragment_begin = '\x02', fragment_end = '\x03';

// Text for the inside of an element or a quoted attribute.
[[nodiscard]] std::string html_escaped(std::string_view text);
// Markup that html_page() passes on as it is (a rendered table, a drawing).
[[nodiscard]] std::string html_fragment(std::string_view markup);
// The page of an answer: fragments as they are, text between them (an explanation, a list) preformatted and escaped.
[[nodiscard]] std::string html_page(std::string_view answer);

}  // namespace napkin::cli
