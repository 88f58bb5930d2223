// CUDA's libraries, and MPI, are opened when they are needed: a binary built with them runs, and explains itself, without.
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>

namespace napkin::measure {

// What a case cannot have here: recorded as the reason why it was skipped.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Library {
  void* handle_ = nullptr;
  std::string name_;

 public:
  // The first of `names` found in `folders` (joined by ':'), by the loader, or in the toolkit's usual folders.
  // Unsupported when there is none.
  Library(std::initializer_list<const char*> names, const std::string& folders);
  // Unsupported when the library is too old to have it. F: decltype(&function) of the header.
  template <class F>
  [[nodiscard]] F symbol(const char* name) const {
    return reinterpret_cast<F>(address(name));
  }

  [[nodiscard]] void* address(const char* name) const;
  [[nodiscard]] void* handle() const { return handle_; }
};

}  // namespace napkin::measure
