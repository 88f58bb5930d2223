#include "model/validation/oom_message_input.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "model/input_error.hpp"

namespace napkin::validation {
namespace {

// "2.00 GiB", "1024 bytes", "512.00 MiB" at `at`; blanks before the number are skipped.
std::optional<Bytes> size_at(std::string_view s, std::size_t at) {
  while (at < s.size() && s[at] == ' ') ++at;
  auto end = at;
  while (end < s.size() && (std::isdigit(static_cast<unsigned char>(s[end])) != 0 || s[end] == '.')) ++end;
  double v = 0;
  if (end == at || std::from_chars(s.data() + at, s.data() + end, v).ec != std::errc{}) return {};
  while (end < s.size() && s[end] == ' ') ++end;
  constexpr std::array<std::pair<std::string_view, double>, 10> units{{{"bytes", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
      {"TiB", 0x1p40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"b", 1}}};
  for (const auto& [unit, scale] : units)
    if (s.substr(end).starts_with(unit)) return Bytes::si(v * scale);
  return {};
}

std::optional<Bytes> behind(std::string_view s, std::string_view words) {
  const auto at = s.find(words);
  return at == s.npos ? std::nullopt : size_at(s, at + words.size());
}

// "77.97 GiB memory in use": the size that stands before the words.
std::optional<Bytes> before(std::string_view s, std::string_view words) {
  const auto at = s.find(words);
  if (at == s.npos || at == 0) return {};
  auto start = at;
  const auto back = [&](auto skip) {
    while (start > 0 && skip(static_cast<unsigned char>(s[start - 1]))) --start;
  };
  back([](unsigned char c) { return c == ' '; });
  back([](unsigned char c) { return std::isalpha(c) != 0; });
  back([](unsigned char c) { return c == ' '; });
  back([](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; });
  return size_at(s, start);
}

template <class... Maybe>
std::optional<Bytes> first_of(Maybe... m) {
  std::optional<Bytes> found;
  ((found = found ? found : m), ...);
  return found;
}

// "[rank37]: torch.OutOfMemoryError": the tag of the line the message stands on.
std::optional<int> rank_before(std::string_view line) {
  const auto at = line.rfind("[rank");
  int rank = 0;
  if (at == line.npos || std::from_chars(line.data() + at + 5, line.data() + line.size(), rank).ec != std::errc{}) return {};
  return rank;
}

// Where a message starts, from `from` on. The allocator capitalises differently from one program to the next.
std::size_t message_at(std::string_view text, std::size_t from) {
  return std::min(text.find("out of memory. Tried", from), text.find("Out of memory while trying to allocate", from));
}

}  // namespace

std::optional<Bytes> OomMessage::outside() const {
  if (!in_use || !allocated || !cached) return {};
  return std::max(Bytes{}, *in_use - *allocated - *cached);
}

std::optional<Bytes> OomMessage::others() const {
  if (!capacity || !free || !in_use) return {};
  return std::max(Bytes{}, *capacity - *free - *in_use);
}

std::optional<Bytes> OomMessage::need() const {
  if (!allocated || !tried) return {};
  return *allocated + *tried;
}

std::optional<Bytes> OomMessage::shortfall() const {
  if (!need() || !capacity) return {};
  // Older messages do not print what the process uses: all that is neither free nor the allocator's is outside it.
  const Bytes beside = outside() ? *outside() : free && cached ? std::max(Bytes{}, *capacity - *free - *allocated - *cached) : Bytes{};
  return *need() + beside - *capacity;
}

std::string_view to_string(OomCause c) {
  switch (c) {
    case OomCause::unknown: return "unknown";
    case OomCause::too_large: return "too-large";
    case OomCause::fragmentation: return "fragmentation";
    case OomCause::other_processes: return "other-processes";
  }
  return "unknown";
}

OomCause cause_of(const OomMessage& m) {
  const auto over = m.shortfall();
  if (!over) return OomCause::unknown;
  if (*over > Bytes{}) return OomCause::too_large;
  // Others hold what is missing beyond the allocator's own holes.
  if (m.others() && m.free && m.cached && *m.free + *m.cached < *m.tried) return OomCause::other_processes;
  return OomCause::fragmentation;
}

OomMessage read_oom(std::string_view text, const std::string& name) {
  const auto start = message_at(text, 0);
  if (start == text.npos)
    throw InputError(name + ": has no out-of-memory message that is known; paste it whole, from \"CUDA out of memory. Tried to allocate\" on");
  OomMessage m;
  for (auto at = start; at != text.npos; at = message_at(text, at + 1)) ++m.messages;
  m.line = 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(start), '\n'));
  const auto head = text.rfind('\n', start);
  m.rank = rank_before(text.substr(head == text.npos ? 0 : head + 1, start - (head == text.npos ? 0 : head + 1)));

  // Up to the next message, as one line.
  constexpr std::size_t longest = 1500;
  std::string s;
  for (const char c : text.substr(start, std::min(longest, message_at(text, start + 1) - start))) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!blank || s.empty() || s.back() != ' ') s += blank ? ' ' : c;
  }
  m.tried = behind(s, "o allocate");
  m.capacity = first_of(behind(s, "total capacity of"), behind(s, "total capacty of"), before(s, "total capacity"));
  m.free = first_of(before(s, "is free"), before(s, "free;"));
  m.in_use = first_of(behind(s, "this process has"), before(s, "memory in use"));
  m.allocated = first_of(before(s, "is allocated by PyTorch"), before(s, "allocated by PyTorch"), before(s, "already allocated"));
  m.cached = before(s, "is reserved by PyTorch but unallocated");
  if (!m.cached)
    if (const auto reserved = before(s, "reserved in total"); reserved && m.allocated) m.cached = std::max(Bytes{}, *reserved - *m.allocated);
  if (!m.tried) throw InputError(name + ":" + std::to_string(m.line) + ": the message does not say what it tried to allocate; paste it whole");
  return m;
}

}  // namespace napkin::validation
