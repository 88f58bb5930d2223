// An out-of-memory message → its numbers, and what they say by themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/quantity.hpp"

namespace napkin::validation {

enum class OomSource : std::uint8_t {
  torch,    // the caching allocator of PyTorch (CUDA, HIP, XPU)
  xla,      // JAX and others over XLA: an allocation, or a program that the compiler found too large
  host,     // the host's memory: offloaded states, pinned buffers, the data loader
  library   // a library of the device that does not ask the allocator: a communicator, a handle
};

// What the allocator printed. Absent = not printed.
struct OomMessage {
  OomSource source = OomSource::torch;
  std::optional<Bytes> tried;        // the allocation that failed
  std::optional<Bytes> capacity, free;
  std::optional<Bytes> in_use;       // by this process, context included
  std::optional<Bytes> allocated;    // live tensors
  std::optional<Bytes> cached;       // reserved by the allocator, no tensor in it
  std::optional<Bytes> program;      // all that a compiled program needs, where a compiler says so
  std::optional<int> rank;           // "[rank3]:" at the head of the line
  std::size_t line = 0;              // of the first message
  std::size_t messages = 0;          // in the text; the first is read

  // Held in this process outside the allocator: context, communicators, libraries.
  [[nodiscard]] std::optional<Bytes> outside() const;
  // Held on the device by other processes.
  [[nodiscard]] std::optional<Bytes> others() const;
  // Live tensors and the one that failed (or the program): what this moment needed of the allocator.
  [[nodiscard]] std::optional<Bytes> need() const;
  // How much the need, with what is held outside it, exceeds the device; negative = it would have fitted without holes.
  [[nodiscard]] std::optional<Bytes> shortfall() const;
};

enum class OomCause : std::uint8_t {
  unknown,          // the message lacks the numbers
  too_large,        // live tensors and the one that failed exceed the device
  fragmentation,    // they fit, but what is free lies in pieces inside the allocator
  other_processes,  // they fit, were the device this process's own
  host_memory,      // the host ran out, not the device
  outside_allocator // a library found no room beside what the allocator holds
};
[[nodiscard]] std::string_view to_string(OomCause c);
[[nodiscard]] OomCause cause_of(const OomMessage& m);

// The first out-of-memory message of a text, wrapped over lines or not, in any spelling of the units: PyTorch 1.0 to 2.x (CUDA, HIP,
// XPU; so DeepSpeed, Megatron-LM, nanotron), XLA on GPU and TPU, the host's allocator, NCCL and cuBLAS. One of the device's allocator
// is preferred to the others, which often follow from it. InputError when there is none.
[[nodiscard]] OomMessage read_oom(std::string_view text, const std::string& name);

}  // namespace napkin::validation
