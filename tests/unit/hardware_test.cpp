#include <doctest/doctest.h>

#include <string>

#include "hardware/hardware_input.hpp"

using namespace napkin;

namespace {
template <class F>
std::string error(F f) {
  try {
    f();
  } catch (const InputError& e) {
    return e.what();
  }
  return {};
}
std::size_t index(Format f) { return static_cast<std::size_t>(f); }
bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }
}  // namespace

TEST_SUITE("hardware") {
  TEST_CASE("every catalog file reads") {
    CHECK(catalog_names().size() >= 6);
    for (const auto& name : catalog_names()) {
      CAPTURE(name);
      const auto h = read_hardware(name);
      CHECK(h.accelerator.name == name);
      CHECK(h.origin == "catalog");
      CHECK((h.accelerator.peak[index(Format::bf16)] || h.accelerator.peak[index(Format::fp16)]));
      for (const auto& alias : h.aliases) CHECK(read_hardware(alias).accelerator.name == name);
    }
  }

  TEST_CASE("names, aliases and the .json suffix resolve") {
    for (const auto name : {"h100", "h100.json", "h100-sxm", "H100-SXM5-80GB"})
      CHECK(read_hardware(std::string(name)).accelerator.name == "h100-sxm");
    const auto h = read_hardware("h200").accelerator;
    CHECK(h.capacity.value == 143771 * MiB);
    CHECK(h.capacity.place == "h200-sxm#/memory/capacity");
    CHECK(h.units.place == "h100-sxm#/chip/units");
    CHECK(h.units.value.si() == 132);
  }

  TEST_CASE("unknown names are refused") {
    CHECK(has(error([] { (void)read_hardware(std::string("h1000")); }), "did you mean"));
    CHECK(has(error([] { (void)read_hardware(std::string("unknown (4x8 cloud GPUs)")); }), "neither a file nor known"));
    CHECK(error([] { (void)read_hardware(std::string("./no-such.json")); }) == "./no-such.json: no such file");
  }
}
