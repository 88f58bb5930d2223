// An out-of-memory message → its numbers, and what they say by themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/quantity.hpp"

namespace napkin::validation {

// What the allocator printed. Absent = not printed.
struct OomMessage {
  std::optional<Bytes> tried;        // the allocation that failed
  std::optional<Bytes> capacity, free;
  std::optional<Bytes> in_use;       // by this process, context included
  std::optional<Bytes> allocated;    // live tensors
  std::optional<Bytes> cached;       // reserved by the allocator, no tensor in it
  std::optional<int> rank;           // "[rank3]:" at the head of the line
  std::size_t line = 0;              // of the first message
  std::size_t messages = 0;          // in the text; the first is read

  // Held in this process outside the allocator: context, communicators, libraries.
  [[nodiscard]] std::optional<Bytes> outside() const;
  // Held on the device by other processes.
  [[nodiscard]] std::optional<Bytes> others() const;
  // Live tensors and the one that failed: what this moment needed of the allocator.
  [[nodiscard]] std::optional<Bytes> need() const;
  // How much the need, with what is held outside it, exceeds the device; negative = it would have fitted without holes.
  [[nodiscard]] std::optional<Bytes> shortfall() const;
};

enum class OomCause : std::uint8_t {
  unknown,          // the message lacks the numbers
  too_large,        // live tensors and the one that failed exceed the device
  fragmentation,    // they fit, but what is free lies in pieces inside the allocator
  other_processes   // they fit, were the device this process's own
};
[[nodiscard]] std::string_view to_string(OomCause c);
[[nodiscard]] OomCause cause_of(const OomMessage& m);

// The first out-of-memory message of a text, wrapped over lines or not: PyTorch 1.x and 2.x (CUDA and HIP), XLA.
// InputError when there is none.
[[nodiscard]] OomMessage read_oom(std::string_view text, const std::string& name);

}  // namespace napkin::validation
