// Readers of one value each, for Group::required and Group::optional; and what a hardware reader's files share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/hardware.hpp"
#include "model/input/document_input.hpp"

namespace napkin::hardware_values {

inline constexpr std::int64_t max_accelerators = 100'000'000;

[[nodiscard]] Bytes capacity(const Field& f);  // above zero
[[nodiscard]] inline BytesPerSecond bandwidth(const Field& f) { return f.bandwidth(); }
[[nodiscard]] inline FlopsPerSecond flop_rate(const Field& f) { return f.flop_rate(); }
[[nodiscard]] inline Seconds seconds(const Field& f) { return f.seconds(); }
[[nodiscard]] inline Hertz frequency(const Field& f) { return f.frequency(); }
[[nodiscard]] inline Watts power(const Field& f) { return f.power(); }
[[nodiscard]] Scalar fraction(const Field& f);          // (0, 1]
[[nodiscard]] Scalar efficiency(const Field& f);        // (0, 2]: in-network reduction beats the nominal bandwidth
[[nodiscard]] Scalar count(const Field& f);             // whole, at least 1
[[nodiscard]] Scalar length(const Field& f);            // not negative
[[nodiscard]] Scalar price(const Field& f);
[[nodiscard]] Scalar oversubscription(const Field& f);  // at least 1
[[nodiscard]] int whole(const Field& f, std::int64_t low, std::int64_t high);

// The "network" member of a hardware file. hardware/network_input.cpp
[[nodiscard]] Network read_network(const Field& f);
// The "aliases" member of a hardware file's root, if any. hardware/catalog_input.cpp
[[nodiscard]] std::vector<std::string> read_aliases(const Field& root);

}  // namespace napkin::hardware_values
