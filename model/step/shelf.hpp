// A growing row of values that do not move.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace napkin {

// References stay valid until clear(), which keeps the memory for the values to come.
template <class Value>
class Shelf {
 public:
  template <class... Arguments>
  Value& emplace_back(Arguments&&... arguments) {
    const std::size_t at = size_++ / board;
    if (at == boards_.size()) boards_.emplace_back().reserve(board);
    return boards_[at].emplace_back(std::forward<Arguments>(arguments)...);
  }
  [[nodiscard]] Value& operator[](std::size_t i) { return boards_[i / board][i % board]; }
  [[nodiscard]] const Value& operator[](std::size_t i) const { return boards_[i / board][i % board]; }
  [[nodiscard]] Value& back() { return (*this)[size_ - 1]; }
  [[nodiscard]] std::size_t size() const { return size_; }
  void clear() {
    for (std::size_t b = 0; b * board < size_; ++b) boards_[b].clear();
    size_ = 0;
  }

 private:
  static constexpr std::size_t board = 32;  // values that are allocated together
  std::vector<std::vector<Value>> boards_;
  std::size_t size_ = 0;
};

}  // namespace napkin
