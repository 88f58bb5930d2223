// A memo table over keys of a few words.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/step/shelf.hpp"

namespace napkin {

// Values do not move: a reference stays valid as long as the table; with `Storage` a vector, until the next call.
template <std::size_t N, class Value, template <class...> class Storage = Shelf>
class Memo {
 public:
  using Key = std::array<std::uint64_t, N>;

  // The value of `key`, made by `make()` the first time; make() must not use this table.
  template <class Make>
  const Value& get(const Key& key, Make make) {
    return entry(key, make).second;
  }
  // The same, for values that are filled in as they are needed.
  template <class Make>
  Value& at(const Key& key, Make make) {
    return entry(key, make).second;
  }
  [[nodiscard]] const Value* find(const Key& key) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t at = hash(key) & (slots_.size() - 1); slots_[at] != 0; at = (at + 1) & (slots_.size() - 1))
      if (const auto& known = entries_[slots_[at] - 1]; same(known.first, key)) return &known.second;
    return nullptr;
  }
  void clear() {
    entries_.clear();
    slots_.assign(slots_.size(), 0);
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  static std::size_t hash(const Key& k) {
    std::uint64_t h = 0x9E3779B97F4A7C15ULL;
    for (const std::uint64_t v : k) h = std::rotl((h ^ v) * 0xD6E8FEB86659FD93ULL, 29);
    return static_cast<std::size_t>(h ^ (h >> 32));
  }
  static bool same(const Key& a, const Key& b) {
    std::uint64_t different = 0;
    for (std::size_t i = 0; i < N; ++i) different |= a[i] ^ b[i];
    return different == 0;
  }
  template <class Make>
  std::pair<Key, Value>& entry(const Key& key, Make make) {
    if (2 * entries_.size() >= slots_.size()) grow();
    std::size_t at = hash(key) & (slots_.size() - 1);
    for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1))
      if (auto& found = entries_[slots_[at] - 1]; same(found.first, key)) return found;
    entries_.emplace_back(key, make());
    slots_[at] = static_cast<std::uint32_t>(entries_.size());
    return entries_.back();
  }
  void grow() {
    std::vector<std::uint32_t> wider(slots_.empty() ? 64 : 4 * slots_.size(), 0);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      std::size_t at = hash(entries_[i].first) & (wider.size() - 1);
      while (wider[at] != 0) at = (at + 1) & (wider.size() - 1);
      wider[at] = static_cast<std::uint32_t>(i + 1);
    }
    slots_ = std::move(wider);
  }
  Storage<std::pair<Key, Value>> entries_;
  std::vector<std::uint32_t> slots_;  // index into entries_ + 1; 0 = free
};

}  // namespace napkin
