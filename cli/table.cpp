#include "cli/table.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "cli/html_page.hpp"

namespace napkin::cli {
namespace {

struct Range {
  char32_t first, last;
};
// Unicode 15: general categories Mn, Me and Cf as far as names and units need them.
constexpr Range zero_width[]{{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x064B, 0x065F},
                             {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x202A, 0x202E},
                             {0x2060, 0x2064}, {0x20D0, 0x20F0}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
                             {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF}};
// Unicode 15: East_Asian_Width W and F, emoji presentation included.
constexpr Range two_wide[]{{0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x2614, 0x2615},
                           {0x26A1, 0x26A1},   {0x2705, 0x2705},   {0x274C, 0x274C},   {0x2E80, 0x303E},
                           {0x3041, 0xA4CF},   {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
                           {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                           {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

template <std::size_t N>
bool in(const Range (&ranges)[N], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges), [c](Range r) { return r.first <= c && c <= r.last; });
}

// Takes one character off the front; a byte that is not UTF-8 counts as one character.
char32_t next_character(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (length > 1 && text.size() >= length) {
    char32_t c = first & (0x7Fu >> length);
    bool valid = true;
    for (std::size_t i = 1; i < length; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      valid = valid && (byte & 0xC0u) == 0x80u;
      c = (c << 6u) | (byte & 0x3Fu);
    }
    if (valid) {
      text.remove_prefix(length);
      return c;
    }
  }
  text.remove_prefix(1);
  return first < 0x80 ? first : U'\uFFFD';
}

// A line break inside a cell would break the table.
std::string one_line(std::string_view text) {
  std::string out(text);
  std::replace_if(out.begin(), out.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return out;
}

std::string_view cell(const std::vector<std::string>& row, std::size_t column) {
  return column < row.size() ? std::string_view(row[column]) : std::string_view();
}

std::string aligned(std::string_view text, std::size_t width, bool right) {
  const std::size_t have = display_width(text);
  const std::string fill(width - std::min(width, have), ' ');
  return right ? fill + std::string(text) : std::string(text) + fill;
}

void end_line(std::string& out) {
  while (!out.empty() && out.back() == ' ') out.pop_back();
  out += '\n';
}

std::string terminal(const Table& table) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t width = display_width(table.columns[c].title);
    for (const auto& row : table.rows) width = std::max(width, display_width(one_line(cell(row, c))));
    widths.push_back(width);
  }
  std::string out;
  const auto line = [&](const auto& text_of) {
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (c > 0) out += "  ";
      out += aligned(text_of(c), widths[c], table.columns[c].right);
    }
    end_line(out);
  };
  if (!table.title.empty()) out += table.title + "\n\n";
  line([&](std::size_t c) { return table.columns[c].title; });
  line([&](std::size_t c) { return std::string(widths[c], '-'); });
  for (const auto& row : table.rows) line([&](std::size_t c) { return one_line(cell(row, c)); });
  if (!table.notes.empty()) out += '\n';
  for (const std::string& note : table.notes) out += note + '\n';
  return out;
}

std::string markdown(const Table& table) {
  const auto escaped = [](std::string_view text) {
    std::string out;
    for (const char c : one_line(text)) {
      if (c == '|' || c == '\\') out += '\\';
      out += c;
    }
    return out;
  };
  std::string out;
  if (!table.title.empty()) out += "**" + table.title + "**\n\n";
  out += '|';
  for (const auto& column : table.columns) out += ' ' + escaped(column.title) + " |";
  out += "\n|";
  for (const auto& column : table.columns) out += column.right ? " ---: |" : " --- |";
  out += '\n';
  for (const auto& row : table.rows) {
    out += '|';
    for (std::size_t c = 0; c < table.columns.size(); ++c) out += ' ' + escaped(cell(row, c)) + " |";
    out += '\n';
  }
  if (!table.notes.empty()) out += '\n';
  for (const std::string& note : table.notes) out += "- " + note + '\n';
  return out;
}

// RFC 4180, with the line end of this system's tools instead of CRLF. Title and notes are not data: left out.
std::string csv(const Table& table) {
  std::string out;
  const auto field = [&out](std::string_view text) {
    if (text.find_first_of(",\"\r\n") == text.npos) {
      out += text;
      return;
    }
    out += '"';
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    out += '"';
  };
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (c > 0) out += ',';
    field(table.columns[c].title);
  }
  out += '\n';
  for (const auto& row : table.rows) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (c > 0) out += ',';
      field(cell(row, c));
    }
    out += '\n';
  }
  return out;
}

std::string html(const Table& table) {
  std::string out = "<table>\n";
  if (!table.title.empty()) out += "<caption>" + html_escaped(table.title) + "</caption>\n";
  const auto line = [&](const char* element, const auto& text_of) {
    out += "<tr>";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      out += std::string("<") + element + (table.columns[c].right ? " class=\"n\">" : ">");
      out += html_escaped(text_of(c)) + "</" + element + ">";
    }
    out += "</tr>\n";
  };
  out += "<thead>";
  line("th", [&](std::size_t c) { return std::string_view(table.columns[c].title); });
  out += "</thead>\n<tbody>\n";
  for (const auto& row : table.rows) line("td", [&](std::size_t c) { return cell(row, c); });
  out += "</tbody>\n</table>\n";
  if (!table.notes.empty()) {
    out += "<ul>\n";
    for (const std::string& note : table.notes) out += "<li>" + html_escaped(note) + "</li>\n";
    out += "</ul>\n";
  }
  return html_fragment(out);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const char32_t c = next_character(text);
    width += in(zero_width, c) ? 0 : in(two_wide, c) ? 2 : 1;
  }
  return width;
}

std::string render(const Table& table, OutputFormat format) {
  for (const auto& row : table.rows)
    if (row.size() > table.columns.size()) throw std::logic_error("a table row has more cells than columns");
  switch (format) {
    case OutputFormat::table: return terminal(table);
    case OutputFormat::md: return markdown(table);
    case OutputFormat::csv: return csv(table);
    case OutputFormat::html: return html(table);
    case OutputFormat::latex: return latex_table(table);
    case OutputFormat::json: break;
  }
  throw std::logic_error("JSON is written by the command itself");
}

}  // namespace napkin::cli
