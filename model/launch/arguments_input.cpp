// The arguments of a command line, as a shell script holds them.
#include <cctype>
#include <map>

#include "model/input/document_input.hpp"
#include "model/launch/configuration_input.hpp"

namespace napkin::launch {
namespace {

// A word, or the end of a command or an array (an empty one).
struct Word {
  std::string text;
  std::size_t line = 0;
  bool end = false;
};

bool name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Comments, quotes, continued lines and arrays, as a shell reads them.
class Script {
 public:
  Script(std::string_view text, const std::string& name) : s_(text), name_(name) {}

  std::vector<Word> words() {
    int arrays = 0;
    while (i_ < s_.size()) {
      const char c = s_[i_];
      if (c == '\n') {
        if (arrays == 0) finish(true);
        else finish(false);
        ++line_;
        ++i_;
      } else if (c == '\\' && i_ + 1 < s_.size() && (s_[i_ + 1] == '\n' || s_.substr(i_ + 1).starts_with("\r\n"))) {
        finish(false);
        i_ += s_[i_ + 1] == '\r' ? 3 : 2;
        ++line_;
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        finish(false);
        ++i_;
      } else if (c == '#' && !open_) {
        while (i_ < s_.size() && s_[i_] != '\n') ++i_;
      } else if (c == '(' || c == ')') {
        // NAME=( opens an array; elsewhere a bracket is part of the shell's own grammar.
        arrays = c == '(' ? arrays + 1 : std::max(0, arrays - 1);
        finish(true);
        ++i_;
      } else if (c == ';' || c == '&' || c == '|') {
        finish(true);
        ++i_;
      } else {
        take_part();
      }
    }
    finish(true);
    return std::move(words_);
  }

 private:
  void finish(bool end) {
    if (open_ && !remember()) words_.push_back({.text = std::move(word_), .line = started_, .end = false});
    word_.clear();
    open_ = false;
    if (end && !words_.empty() && !words_.back().end) words_.push_back({.text = {}, .line = line_, .end = true});
  }

  // NAME=value is a variable. NAME="--a 1 --b 2" is a list of arguments, which are taken here and not where $NAME stands.
  bool remember() {
    const auto equal = word_.find('=');
    if (equal == std::string::npos || equal == 0 || std::isdigit(static_cast<unsigned char>(word_[0])) != 0) return false;
    for (std::size_t i = 0; i < equal; ++i)
      if (!name_character(word_[i])) return false;
    const std::string value = word_.substr(equal + 1);
    const bool several = value.find_first_of(" \t\n") != std::string::npos;
    if (!several && !value.empty()) variables_.insert_or_assign(word_.substr(0, equal), value);
    std::size_t line = started_;
    for (std::size_t i = 0; several && i < value.size();) {
      const auto end = std::min(value.find_first_of(" \t\r\n", i), value.size());
      if (end > i) words_.push_back({.text = value.substr(i, end - i), .line = line, .end = false});
      line += end < value.size() && value[end] == '\n' ? 1 : 0;
      i = end + 1;
    }
    words_.push_back({.text = {}, .line = line, .end = true});
    return true;
  }

  void take_part() {
    if (!open_) started_ = line_;
    open_ = true;
    const char c = s_[i_];
    if (c == '\'') {
      const auto close = s_.find('\'', i_ + 1);
      if (close == s_.npos) throw InputError(name_ + ':' + std::to_string(line_) + ": a quote has no end");
      take_text(s_.substr(i_ + 1, close - i_ - 1));
      i_ = close + 1;
    } else if (c == '"') {
      const std::size_t start = line_;
      for (++i_; i_ < s_.size() && s_[i_] != '"';) {
        if (s_[i_] == '$') {
          take_variable();
          continue;
        }
        if (s_[i_] == '\\' && i_ + 1 < s_.size()) ++i_;
        line_ += s_[i_] == '\n' ? 1 : 0;
        word_ += s_[i_++];
      }
      if (i_ >= s_.size()) throw InputError(name_ + ':' + std::to_string(start) + ": a quote has no end");
      ++i_;
    } else if (c == '$') {
      take_variable();
    } else {
      if (c == '\\' && i_ + 1 < s_.size()) ++i_;
      word_ += s_[i_++];
    }
  }

  void take_text(std::string_view text) {
    for (const char c : text) line_ += c == '\n' ? 1 : 0;
    word_ += text;
  }

  // $NAME, ${NAME}, ${NAME:-value}: the value the text itself gave it, else as it stands.
  void take_variable() {
    const std::size_t from = i_++;
    std::string name, otherwise;
    if (i_ < s_.size() && s_[i_] == '{') {
      const auto close = s_.find('}', i_);
      if (close == s_.npos) {
        word_ += '$';
        return;
      }
      const std::string_view inside = s_.substr(i_ + 1, close - i_ - 1);
      const auto colon = inside.find(":-");
      name = inside.substr(0, colon);
      if (colon != inside.npos) otherwise = inside.substr(colon + 2);
      i_ = close + 1;
    } else {
      while (i_ < s_.size() && name_character(s_[i_])) name += s_[i_++];
    }
    const auto known = variables_.find(name);
    if (known != variables_.end()) word_ += known->second;
    else if (!otherwise.empty()) word_ += otherwise;
    else word_ += s_.substr(from, i_ - from);
  }

  std::string_view s_;
  const std::string& name_;
  std::size_t i_ = 0, line_ = 1, started_ = 1;
  std::string word_;
  bool open_ = false;
  std::vector<Word> words_;
  std::map<std::string, std::string, std::less<>> variables_;
};

bool is_flag(std::string_view word) {
  return word.size() > 3 && word.starts_with("--") && std::isalpha(static_cast<unsigned char>(word[2])) != 0;
}

}  // namespace

std::vector<Found> read_arguments(std::string_view text, const std::string& name) {
  std::vector<Found> out;
  bool taking = false;
  for (const Word& w : Script(text, name).words()) {
    if (w.end) {
      taking = false;
    } else if (is_flag(w.text)) {
      const auto equal = w.text.find('=');
      out.push_back({.key = w.text.substr(0, equal), .value = std::vector<Value>{}, .line = w.line});
      for (char& c : out.back().key)
        if (c == '_') c = '-';
      if (equal != std::string::npos) out.back().value.list.emplace_back(w.text.substr(equal + 1));
      taking = equal == std::string::npos;
    } else if (taking) {
      out.back().value.list.emplace_back(w.text);
    }
  }
  return out;
}

}  // namespace napkin::launch
