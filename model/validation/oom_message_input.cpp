#include "model/validation/oom_message_input.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "model/input_error.hpp"

namespace napkin::validation {
namespace {

bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// "2.00 GiB", "2.00GiB", "1,024 bytes", "15.48G" at `at`; blanks before the number are skipped. XLA's bare K, M, G are binary.
std::optional<Bytes> size_at(std::string_view s, std::size_t at) {
  while (at < s.size() && s[at] == ' ') ++at;
  std::string number;
  auto end = at;
  for (; end < s.size(); ++end) {
    const bool comma = s[end] == ',' && end > at && end + 3 < s.size() && digit(s[end + 1]) && digit(s[end + 2]) && digit(s[end + 3]);
    if (comma) continue;
    if (!digit(s[end]) && s[end] != '.') break;
    number += s[end];
  }
  double v = 0;
  if (number.empty() || std::from_chars(number.data(), number.data() + number.size(), v).ec != std::errc{}) return {};
  while (end < s.size() && s[end] == ' ') ++end;
  constexpr std::array<std::pair<std::string_view, double>, 16> units{{{"bytes", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
      {"TiB", 0x1p40}, {"KB", 1e3}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"K", 0x1p10}, {"M", 0x1p20}, {"G", 0x1p30},
      {"T", 0x1p40}, {"B", 1}, {"b", 1}}};
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
    while (start > 0 && skip(s[start - 1])) --start;
  };
  back([](char c) { return c == ' '; });
  back([](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
  back([](char c) { return c == ' '; });
  back([](char c) { return digit(c) || c == '.' || c == ','; });
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

// How a message begins, in lower case, and who writes it so.
struct Opening {
  std::string_view words;
  OomSource source;
};
constexpr std::array<Opening, 12> openings{{{"out of memory. tried", OomSource::torch},
                                            {"tried to allocate", OomSource::torch},  // the head cut off
                                            {"out of memory while trying to allocate", OomSource::xla},
                                            {"out of memory allocating", OomSource::xla},
                                            {"failed to allocate request for", OomSource::xla},
                                            {"ran out of memory in memory space hbm", OomSource::xla},
                                            {"attempting to reserve", OomSource::xla},
                                            {"can't allocate memory: you tried to allocate", OomSource::host},
                                            {"failed to cuda calloc", OomSource::library},
                                            {"cuda failure 'out of memory'", OomSource::library},
                                            {"cublas_status_alloc_failed", OomSource::library},
                                            {"cuda error: out of memory", OomSource::library}}};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

struct Found {
  std::size_t at = std::string_view::npos;
  OomSource source = OomSource::torch;
};
// The first message from `from` on that a wanted source wrote; `text` in lower case.
template <class Wanted>
Found message_at(std::string_view text, std::size_t from, Wanted wanted) {
  Found first;
  for (const Opening& o : openings) {
    if (!wanted(o.source)) continue;
    auto at = text.find(o.words, from);
    // "you tried to allocate" is the host's.
    while (o.words == "tried to allocate" && at != text.npos && at >= 4 && text.substr(at - 4, 4) == "you ") at = text.find(o.words, at + 1);
    if (at < first.at) first = {at, o.source};
  }
  return first;
}

void read_torch(std::string_view s, OomMessage& m) {
  m.tried = behind(s, "o allocate");
  m.capacity = first_of(behind(s, "total capacity of"), behind(s, "total capacty of"), before(s, "total capacity"));
  m.free = first_of(before(s, "is free"), before(s, "free;"));
  m.in_use = first_of(behind(s, "this process has"), before(s, "memory in use"));
  m.allocated = first_of(before(s, "is allocated by PyTorch"), before(s, "allocated by PyTorch"), before(s, "already allocated"));
  m.cached = first_of(before(s, "is reserved by PyTorch but unallocated"), before(s, "cached)"));
  if (!m.cached)
    if (const auto reserved = before(s, "reserved in total"); reserved && m.allocated) m.cached = std::max(Bytes{}, *reserved - *m.allocated);
}

// An allocation of the runtime, with the pool's statistics where the allocator has dumped them; or the compiler's verdict on a program.
void read_xla(std::string_view s, std::string_view whole, OomMessage& m) {
  m.program = behind(s, "Used");
  if (m.program) {
    const auto of = s.find(" of ", s.find("Used"));
    if (of != s.npos) m.capacity = size_at(s, of + 4);
    return;
  }
  m.tried = first_of(behind(s, "o allocate"), behind(s, "allocating"), behind(s, "request for"), behind(s, "to reserve"));
  m.free = behind(s, "There are");
  m.capacity = first_of(behind(whole, "HBM capacity"), behind(whole, "Limit:"));
  m.allocated = first_of(behind(whole, "Currently allocated:"), behind(whole, "InUse:"));
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
  if (program) return program;
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
    case OomCause::host_memory: return "host-memory";
    case OomCause::outside_allocator: return "outside-allocator";
  }
  return "unknown";
}

OomCause cause_of(const OomMessage& m) {
  if (m.source == OomSource::host) return OomCause::host_memory;
  if (m.source == OomSource::library) return OomCause::outside_allocator;
  const auto over = m.shortfall();
  if (!over) return OomCause::unknown;
  if (*over > Bytes{}) return OomCause::too_large;
  // Others hold what is missing beyond the allocator's own holes.
  if (m.others() && m.free && m.cached && m.tried && *m.free + *m.cached < *m.tried) return OomCause::other_processes;
  return OomCause::fragmentation;
}

OomMessage read_oom(std::string_view text, const std::string& name) {
  const std::string small = lower(text);
  const auto of_device = [](OomSource o) { return o == OomSource::torch || o == OomSource::xla; };
  Found found = message_at(small, 0, of_device);
  if (found.at == small.npos) found = message_at(small, 0, [](OomSource o) { return o == OomSource::host; });
  if (found.at == small.npos) found = message_at(small, 0, [](OomSource o) { return o == OomSource::library; });
  const auto start = found.at;
  if (start == small.npos)
    throw InputError(name + ": has no out-of-memory message that is known; paste it whole, from \"CUDA out of memory. Tried to allocate\" "
                            "or \"RESOURCE_EXHAUSTED: Out of memory\" on");
  const auto same = [&](OomSource o) { return o == found.source; };
  OomMessage m;
  m.source = found.source;
  // One message may hold several openings ("out of memory. Tried to allocate").
  std::size_t last = 0;
  for (auto at = start; at != small.npos; at = message_at(small, at + 1, same).at) {
    if (m.messages == 0 || at > last + 40) ++m.messages;
    last = at;
  }
  m.line = 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(start), '\n'));
  const auto head = text.rfind('\n', start);
  m.rank = rank_before(text.substr(head == text.npos ? 0 : head + 1, start - (head == text.npos ? 0 : head + 1)));

  // Up to the next message, as one line.
  constexpr std::size_t longest = 1500;
  const auto next = message_at(small, start + 40, same).at;
  std::string s;
  for (const char c : text.substr(start, std::min(longest, next - start))) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!blank || s.empty() || s.back() != ' ') s += blank ? ' ' : c;
  }
  switch (m.source) {
    case OomSource::torch: read_torch(s, m); break;
    case OomSource::xla: read_xla(s, text, m); break;
    case OomSource::host: m.tried = behind(s, "o allocate"); break;
    case OomSource::library: m.tried = behind(text, "Failed to CUDA calloc"); break;
  }
  if (!m.tried && !m.program && m.source != OomSource::library)
    throw InputError(name + ":" + std::to_string(m.line) + ": the message does not say what it tried to allocate; paste it whole");
  return m;
}

}  // namespace napkin::validation
