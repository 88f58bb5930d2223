#include "cli/html_page.hpp"

#include <algorithm>

namespace napkin::cli {
namespace {

constexpr std::string_view style =
    "body{font:15px/1.45 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em;color:#1a1a1a;background:#fff}"
    "table{border-collapse:collapse;margin:.6em 0;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;font-weight:600;padding:.4em 0}"
    "th,td{padding:.2em .8em;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}"
    "th{border-bottom:2px solid #888}.n{text-align:right}"
    "ul{padding-left:1.2em;color:#444}pre{overflow-x:auto;font-size:13px;line-height:1.35}svg{max-width:100%;height:auto}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}th,td{border-color:#444}ul{color:#aaa}}";

std::string_view trimmed(std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

// The first line that a reader sees, without markup.
std::string title_of(std::string_view answer) {
  std::string out;
  bool tag = false;
  for (const char c : answer) {
    if (c == '<') tag = true;
    const bool skip = tag || c == fragment_begin || c == fragment_end || (out.empty() && (c == '\n' || c == ' '));
    if (c == '>') tag = false;
    if (skip) {
      if (c == '>' && !out.empty()) break;  // the end of the element that held it
      continue;
    }
    if (c == '\n') break;
    out += c;
  }
  return out;
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') out += c;
    }
  }
  return out;
}

std::string html_fragment(std::string_view markup) {
  return fragment_begin + std::string(markup) + fragment_end;
}

std::string html_page(std::string_view answer) {
  std::string body, title;
  while (!answer.empty()) {
    const auto begin = std::min(answer.find(fragment_begin), answer.size());
    if (const auto plain = trimmed(answer.substr(0, begin)); !plain.empty()) {
      const std::string text = html_escaped(plain);
      if (title.empty()) title = text.substr(0, text.find('\n'));
      body += "<pre>" + text + "</pre>\n";
    }
    answer.remove_prefix(begin);
    if (answer.empty()) break;
    const auto end = std::min(answer.find(fragment_end), answer.size());
    const std::string_view markup = answer.substr(1, end - 1);
    if (title.empty()) title = title_of(markup);
    body += markup;
    answer.remove_prefix(std::min(end + 1, answer.size()));
  }
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
         (title.empty() ? std::string("napkin") : title) + "</title>\n<style>" + std::string(style) + "</style>\n</head>\n<body>\n" +
         body + "</body>\n</html>\n";
}

}  // namespace napkin::cli
