#include "model/launch/write.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <utility>
#include <vector>

namespace napkin::launch {
namespace {

std::string joined(const std::vector<Value>& list, std::string_view separator, Format format) {
  std::string s;
  for (std::size_t i = 0; i < list.size(); ++i) s += (i == 0 ? std::string() : std::string(separator)) + spelling(list[i], format);
  return s;
}

bool bare(std::string_view text, std::string_view extra) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](unsigned char c) {
    return std::isalnum(c) != 0 || extra.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

// A word of a shell: in single quotes unless it needs none.
std::string shell_word(const std::string& text) {
  if (bare(text, "_./,:=+-@%")) return text;
  std::string s = "'";
  for (const char c : text) s += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return s + "'";
}

// JSON, TOML, YAML and Python read these escapes alike.
std::string quoted(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string s = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      s += '\\';
      s += c;
    } else if (byte < 0x20) {
      s += "\\u00";
      s += digits[byte >> 4U];
      s += digits[byte & 15U];
    } else {
      s += c;
    }
  }
  return s + '"';
}

// YAML 1.1 takes some plain words for truth values, nothing or numbers.
std::string yaml_text(const std::string& text) {
  constexpr std::array<std::string_view, 11> taken{"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan"};
  std::string small;
  for (const char c : text) small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool letter = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0;
  const bool plain = letter && bare(text, "_./-") && std::find(taken.begin(), taken.end(), small) == taken.end();
  return plain ? text : quoted(text);
}

// Settings with dotted keys as a tree, in order of first appearance.
struct Node {
  std::string name;
  const Value* value = nullptr;
  std::vector<std::unique_ptr<Node>> children;
  Node& child(std::string_view key) {
    for (const auto& c : children)
      if (c->name == key) return *c;
    children.push_back(std::make_unique<Node>());
    children.back()->name = key;
    return *children.back();
  }
};
Node tree_of(const std::vector<const Written*>& settings) {
  Node root;
  for (const Written* w : settings) {
    Node* at = &root;
    for (std::size_t from = 0; from <= w->key.size();) {
      const auto dot = std::min(w->key.find('.', from), w->key.size());
      at = &at->child(std::string_view(w->key).substr(from, dot - from));
      from = dot + 1;
    }
    at->value = &w->value;
  }
  return root;
}

bool numbered(const Node& n) {
  return !n.children.empty() && std::all_of(n.children.begin(), n.children.end(), [](const auto& c) {
    return std::all_of(c->name.begin(), c->name.end(), [](unsigned char d) { return std::isdigit(d) != 0; });
  });
}

// Children named 0, 1, ... are the elements of a list.
void write_yaml(const Node& n, const std::string& indent, std::string& out) {
  for (const auto& c : n.children) {
    if (c->value != nullptr) {
      out += indent + c->name + ": " + spelling(*c->value, Format::yaml) + '\n';
      continue;
    }
    out += indent + c->name + ":\n";
    if (!numbered(*c)) {
      write_yaml(*c, indent + "  ", out);
      continue;
    }
    for (const auto& element : c->children) {
      if (element->value != nullptr) {
        out += indent + "- " + spelling(*element->value, Format::yaml) + '\n';
        continue;
      }
      std::string body;
      write_yaml(*element, indent + "  ", body);
      body.replace(indent.size(), 2, "- ");
      out += body;
    }
  }
}

void write_json(const Node& n, const std::string& indent, std::string& out) {
  const bool list = numbered(n);
  out += list ? "[\n" : "{\n";
  for (std::size_t i = 0; i < n.children.size(); ++i) {
    const Node& c = *n.children[i];
    out += indent + "  " + (list ? "" : quoted(c.name) + ": ");
    if (c.value != nullptr) out += spelling(*c.value, Format::json);
    else write_json(c, indent + "  ", out);
    out += i + 1 < n.children.size() ? ",\n" : "\n";
  }
  out += indent + (list ? "]" : "}");
}

void write_toml(const Node& n, const std::string& table, std::string& out) {
  bool headed = table.empty();
  for (const auto& c : n.children) {
    if (c->value == nullptr || c->value->is(Value::Kind::none)) continue;
    if (!headed) out += (out.empty() ? "[" : "\n[") + table + "]\n";
    headed = true;
    out += c->name + " = " + spelling(*c->value, Format::toml) + '\n';
  }
  for (const auto& c : n.children)
    if (c->value == nullptr) write_toml(*c, table.empty() ? c->name : table + '.' + c->name, out);
}

// An array a section, one setting a line; what is false is not said.
std::string arguments(const std::vector<const Written*>& settings) {
  std::string out, section;
  for (const Written* w : settings) {
    if (w->value.is(Value::Kind::none) || (w->value.is(Value::Kind::truth) && !w->value.truth)) continue;
    if (w->section != section) {
      out += (section.empty() ? "" : ")\n") + w->section + "=(\n";
      section = w->section;
    }
    out += "    " + w->key;
    if (!w->value.is(Value::Kind::truth)) out += ' ' + spelling(w->value, Format::arguments);
    out += '\n';
  }
  return out + (section.empty() ? "" : ")\n");
}

}  // namespace

std::string spelling(const Value& v, Format format) {
  const bool python = format == Format::python;
  switch (v.kind) {
    case Value::Kind::none: return python ? "None" : "null";
    case Value::Kind::truth: return python ? (v.truth ? "True" : "False") : v.truth ? "true" : "false";
    case Value::Kind::code: return v.text;
    case Value::Kind::text:
      return format == Format::arguments || format == Format::text ? shell_word(v.text)
             : format == Format::yaml                              ? yaml_text(v.text)
                                                                   : quoted(v.text);
    case Value::Kind::list:
      return format == Format::arguments ? joined(v.list, " ", format) : '[' + joined(v.list, ", ", format) + ']';
    case Value::Kind::whole:
    case Value::Kind::real: break;
  }
  return plain(v);
}

std::string file_text(const Emission& emission, const Target& target, std::size_t file, const Facts& facts) {
  const File& f = target.files[file];
  std::vector<const Written*> settings;
  for (const Written& w : emission.settings)
    if (w.file == file) settings.push_back(&w);
  std::string body, out;
  switch (f.format) {
    case Format::arguments: body = arguments(settings); break;
    case Format::yaml: write_yaml(tree_of(settings), "", body); break;
    case Format::toml: write_toml(tree_of(settings), "", body); break;
    case Format::json:
      write_json(tree_of(settings), "", body);
      body += '\n';
      break;
    case Format::python:
      for (const Written* w : settings) body += f.prefix + w->key + " = " + spelling(w->value, f.format) + '\n';
      break;
    case Format::text: break;
  }
  const auto lines = [&](const std::vector<Line>& all) {
    for (const Line& l : all)
      if (holds(l.when, facts)) out += filled(l.text, facts) + '\n';
  };
  lines(f.before);
  out += body;
  lines(f.after);
  return out;
}

}  // namespace napkin::launch
