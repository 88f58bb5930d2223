// A memo table over small integer keys; remembers the last key, because a search changes one axis at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace napkin {

template <std::size_t N, class Value>
class Memo {
 public:
  using Key = std::array<std::int64_t, N>;

  // The value of `key`, made by `make()` the first time. The reference stays valid.
  template <class Make>
  const Value& get(const Key& key, Make make) {
    if (last_ != nullptr && key == last_key_) return *last_;
    auto& slot = table_[key];
    if (!slot) slot = std::make_unique<Value>(make());
    last_key_ = key;
    last_ = slot.get();
    return *last_;
  }
  [[nodiscard]] std::size_t size() const { return table_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const Key& k) const {
      std::uint64_t h = 0x9E3779B97F4A7C15ULL;
      for (const std::int64_t v : k) h = (h ^ static_cast<std::uint64_t>(v)) * 0xD6E8FEB86659FD93ULL, h ^= h >> 32;
      return static_cast<std::size_t>(h);
    }
  };
  std::unordered_map<Key, std::unique_ptr<Value>, Hash> table_;
  Key last_key_{};
  const Value* last_ = nullptr;
};

}  // namespace napkin
