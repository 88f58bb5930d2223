#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <set>
#include <string>

#include "hardware/hardware_input.hpp"
#include "hardware/plausible.hpp"

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
bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }
std::size_t index(Format f) { return static_cast<std::size_t>(f); }
Hardware read(const std::string& text) { return read_hardware(Document::parse(text, "mine.json")); }
std::string refusal(const std::string& text) {
  return error([&] { (void)read(text); });
}

// A file that takes everything from the catalog but `members`.
std::string child(const std::string& members) {
  return R"({"schema": 1, "name": "mine", "title": "Mine", "extends": "h100-sxm", )" + members + "}";
}
std::string one_tier(const std::string& members) {
  return child(R"("network": {"node_size": 4, "tiers": [{"name": "t", "bandwidth": "90 GB/s", "efficiency": 0.9,
 "latency": "1 us", "source": "-", "kind": "assumed", )" + members + "}]}");
}

std::filesystem::path shared_data() {
  const char* set = std::getenv("NAPKIN_SHARED_DATA");
  return set != nullptr ? set : std::filesystem::path(NAPKIN_SOURCE_DIR) / ".." / "shared" / "data";
}

// A file that every change leaves either readable or refused with one line.
void must_read_or_refuse(const std::string& text) {
  const auto message = error([&] { (void)read_hardware(Document::parse(text, "changed.json")); });
  CHECK(message.find('\n') == std::string::npos);
}

}  // namespace

TEST_SUITE("hardware") {
  TEST_CASE("every catalog file reads, is plausible, and its aliases lead to it alone") {
    CHECK(catalog_names().size() >= 41);
    std::set<std::string> taken;
    for (const auto& name : catalog_names()) {
      CAPTURE(name);
      const auto h = read_hardware(name);
      CHECK(h.accelerator.name == name);
      CHECK(h.origin == "catalog");
      CHECK(taken.insert(name).second);
      for (const auto& alias : h.aliases) {
        CAPTURE(alias);
        CHECK(taken.insert(alias).second);
        CHECK(read_hardware(alias).accelerator.name == name);
      }
      for (const auto& problem : hardware_problems(hardware_document(name))) FAIL_CHECK(problem);
    }
  }

  TEST_CASE("every machine has what a prediction needs") {
    for (const auto& name : catalog_names()) {
      CAPTURE(name);
      const auto h = read_hardware(name);
      const auto& a = h.accelerator;
      const auto base = a.peak[index(Format::bf16)] ? Format::bf16 : Format::fp16;
      REQUIRE(a.peak[index(base)]);
      REQUIRE(a.gemm.rate[index(base)]);
      CHECK(a.gemm.rate[index(base)]->sustained);
      CHECK(a.attention.contains("fa2"));
      CHECK(h.network.tiers.back().size == 0);
      for (const auto& t : h.network.tiers) CHECK_FALSE(t.bandwidth.source->text.empty());
      // A format that computes is at least as fast as the next wider one.
      const auto& wide = a.peak[index(base)];
      if (const auto& fp8 = a.peak[index(Format::fp8)]) {
        CHECK(fp8->value >= wide->value);
        if (const auto& fp4 = a.peak[index(Format::fp4)]) CHECK(fp4->value >= fp8->value);
      }
    }
  }

  TEST_CASE("published figures") {
    const auto h100 = read_hardware("h100").accelerator;
    CHECK(h100.peak[index(Format::bf16)]->value.si() == 989.4e12);
    CHECK(h100.peak[index(Format::fp8)]->value.si() == 1978.9e12);
    CHECK_FALSE(h100.peak[index(Format::fp4)]);
    CHECK(h100.memory_bandwidth.value == 3350 * GB / second);
    CHECK(h100.capacity.value == 81559 * MiB);
    const auto gb200 = read_hardware("gb200").network;
    CHECK(gb200.node_size == 4);
    CHECK(gb200.tiers.front().size == 72);
    CHECK(gb200.tiers.front().bandwidth.value == 900 * GB / second);
    CHECK(gb200.tiers.front().in_network_reduction);
    CHECK_FALSE(read_hardware("a100").network.tiers.front().in_network_reduction);
    const auto ici = read_hardware("v5p").network.tiers.front();
    CHECK(ici.topology == Tier::Topology::torus);
    CHECK(ici.size == 16 * 20 * 28);
    CHECK(read_hardware("v100").accelerator.peak[index(Format::bf16)] == std::nullopt);
  }

  TEST_CASE("names, aliases and the .json suffix resolve; a child's constants say where they stand") {
    for (const auto name : {"h100", "h100.json", "h100-sxm", "H100-SXM5-80GB", "h100_sxm"})
      CHECK(read_hardware(std::string(name)).accelerator.name == "h100-sxm");
    const auto h = read_hardware("h200").accelerator;
    CHECK(h.capacity.value == 143771 * MiB);
    CHECK(h.capacity.place == "h200-sxm#/memory/capacity");
    CHECK(h.units.place == "h100-sxm#/chip/units");
    CHECK(h.units.value.si() == 132);
  }

  TEST_CASE("a file that exists wins over the catalog") {
    const auto folder = std::filesystem::temp_directory_path() / "napkin-hardware-test";
    std::filesystem::create_directories(folder / "h100");
    const auto path = (folder / "h100.json").string();
    std::ofstream(path) << child(R"("notes": [])");
    CHECK(read_hardware(path).accelerator.name == "mine");
    CHECK(read_hardware(path).origin == path);
    CHECK(read_hardware(path).accelerator.capacity.place == "h100-sxm#/memory/capacity");
    CHECK(hardware_text(path) == child(R"("notes": [])"));
    CHECK(has(error([&] { (void)read_hardware((folder / "h100").string()); }), "is a folder"));
    std::filesystem::remove_all(folder);
  }

  TEST_CASE("unknown names are refused, never guessed") {
    CHECK(error([] { (void)read_hardware(std::string("h1000")); }) ==
          "\"h1000\" is neither a file nor known hardware; did you mean \"h100\"?");
    for (const auto name : {"unknown (4x8 cloud GPUs)", "GPU not recorded", "Blackwell", "TPU-v4/v5e", "", "b300-hgx-2"})
      CHECK_FALSE(error([&] { (void)read_hardware(std::string(name)); }).empty());
    CHECK(error([] { (void)read_hardware(std::string("./no-such.json")); }) == "./no-such.json: no such file");
    CHECK(error([] { (void)read_hardware(std::string("a\nb")); }).find('\n') == std::string::npos);
  }

  TEST_CASE("every hardware name in the shared data resolves, unless it names no machine") {
    const auto folder = shared_data();
    if (!std::filesystem::exists(folder)) {
      std::cout << "skipped: " << folder << " is not there\n";
      return;
    }
    // What the records say where the source did not name a machine, or named several.
    const std::set<std::string> nameless{"GPU not named (H100-class NVLink)", "GPU not recorded",
                                         "unknown (4x8 cloud GPUs)", "Trainium/Inferentia2", "TPU-v4/v5e",
                                         "Blackwell", "Ampere (A100)"};
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".jsonl") continue;
      std::ifstream in(entry.path());
      std::size_t number = 0;
      for (std::string line; std::getline(in, line);) {
        ++number;
        if (!has(line, "\"hardware\"")) continue;
        const auto root = Document::parse_line(line, entry.path().filename().string(), number).root();
        if (const auto f = root.find("hardware"); f && f->is(Field::Type::string)) names.insert(f->string());
      }
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder / "measured")) {
      if (entry.path().extension() != ".csv") continue;
      std::ifstream in(entry.path());
      std::string line;
      std::getline(in, line);
      while (std::getline(in, line)) names.insert(line.substr(0, line.find(',')));
    }
    CHECK(names.size() > 20);
    for (const auto& name : names) {
      CAPTURE(name);
      CHECK(error([&] { (void)read_hardware(name); }).empty() == !nameless.contains(name));
    }
  }

  TEST_CASE("wrong units, types and members") {
    CHECK(has(refusal(child(R"("memory": {"capacity": "80 Gb", "bandwidth": "3 TB/s", "source": "-", "kind": "assumed"})")),
              "mine.json:1: /memory/capacity: \"80 Gb\" is a number of bits"));
    CHECK(has(refusal(child(R"("memory": {"capacity": "80 GB", "bandwidth": "4.8 TBps", "source": "-", "kind": "assumed"})")),
              "/memory/bandwidth: \"4.8 TBps\" is not a bandwidth; write a number, a space and one of"));
    CHECK(has(refusal(child(R"("memory": {"capacity": "80 GB", "bandwith": "3 TB/s", "source": "-", "kind": "assumed"})")),
              "/memory/bandwith: unknown member; did you mean \"bandwidth\"?"));
    CHECK(has(refusal(child(R"("memory": {"capacity": "0 GB", "bandwidth": "3 TB/s", "source": "-", "kind": "assumed"})")),
              "write a capacity above zero"));
    CHECK(has(refusal(child(R"("memory": {"capacity": NaN, "bandwidth": "3 TB/s", "source": "-", "kind": "assumed"})")),
              "is NaN; write a string with a unit"));
    CHECK(has(refusal(child(R"("memory": {"capacity": "80 GB", "bandwidth": "3 TB/s", "source": "-"})")),
              "the member \"kind\" is missing"));
    CHECK(has(refusal(child(R"("memory": {"capacity": "80 GB", "bandwidth": "3 TB/s", "source": "-", "kind": "guess"})")),
              "write one of datasheet, measured, fitted, assumed"));
    CHECK(has(refusal(R"({"schema": 2, "name": "x"})"), "this napkin reads schema 1"));
    CHECK(has(refusal(R"([1, 2])"), "is not an object"));
    CHECK(has(refusal(R"({"schema": 1, "name": "x", "title": "x", "extends": "h1000"})"), "is not in the catalog"));
    CHECK(has(refusal(R"({"schema": 1, "name": "x", "title": "x"})"), "the member \"vendor\" is missing"));
    CHECK(has(refusal(child(R"("chip": {"units": 1.5, "source": "-", "kind": "assumed"})")), "write a whole number from 1"));
  }

  TEST_CASE("contradictions in the network") {
    CHECK(has(refusal(one_tier(R"("topology": "torus", "size": 64, "dims": [4, 4], "wraps": [true, true])")),
              "the product of the axes is 16"));
    CHECK(has(refusal(one_tier(R"("topology": "torus", "dims": [4, 4], "wraps": [true])")),
              "write one true or false for each axis"));
    CHECK(has(refusal(one_tier(R"("topology": "torus", "dims": [100000, 100000], "wraps": [true, true])")),
              "more than 100,000,000 accelerators"));
    CHECK(has(refusal(one_tier(R"("topology": "switched", "dims": [4, 4])")), "only a torus has axes"));
    CHECK(has(refusal(one_tier(R"("topology": "switched", "oversubscription": 0.5)")), "a ratio of at least 1"));
    CHECK(has(refusal(one_tier(R"("topology": "star")")), "write one of switched, mesh, ring, torus, host"));
    CHECK(read(one_tier(R"("topology": "torus", "dims": [4, 4], "wraps": [true, false])")).network.tiers[0].size == 16);
    const std::string tier = R"({"name": "t", "topology": "switched", "bandwidth": "90 GB/s", "efficiency": 0.9,
 "latency": "1 us", "source": "-", "kind": "assumed", "size": )";
    CHECK(has(refusal(child(R"("network": {"node_size": 8, "tiers": [)" + tier + "8}," + tier + "8}]}")),
              "an outer tier joins more accelerators"));
    CHECK(has(refusal(child(R"("network": {"node_size": 8, "tiers": []})")), "write at least one tier"));
  }

  TEST_CASE("what cannot be is said, though it reads") {
    const auto problems = [](const std::string& text) { return hardware_problems(Document::parse(text, "mine.json")); };
    CHECK(problems(child(R"("notes": [])")).empty());
    const auto odd = problems(
        child(R"("memory": {"capacity": "80 MB", "bandwidth": "3 PB/s", "source": "-", "kind": "assumed"})"));
    REQUIRE(odd.size() == 2);
    CHECK(has(odd[0], "mine#/memory/capacity: 80 MB is no plausible memory capacity"));
    CHECK(problems(child(R"("peaks": 1, "chip": 2, "host": 3)")).size() == 3);
  }

  TEST_CASE("a child that narrows the peaks drops the inherited rates of other formats") {
    const auto a = read(child(R"("peak": {"bf16": "900 TFLOP/s", "source": "-", "kind": "assumed"})")).accelerator;
    CHECK(a.gemm.rate[index(Format::bf16)]);
    CHECK_FALSE(a.gemm.rate[index(Format::fp8)]);
  }

  TEST_CASE("truncations and changed bytes never crash, and are answered with one line") {
    std::mt19937 random(2);
    const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
    for (const auto& name : catalog_names()) {
      CAPTURE(name);
      const auto text = hardware_text(name);
      for (int i = 0; i < 20; ++i) must_read_or_refuse(text.substr(0, below(text.size())));
      for (int i = 0; i < 60; ++i) {
        auto changed = text;
        for (std::size_t n = 1 + below(3); n > 0; --n) changed[below(changed.size())] = static_cast<char>(below(256));
        must_read_or_refuse(changed);
      }
      for (int i = 0; i < 10; ++i) {  // a piece moved elsewhere keeps the brackets plausible
        auto changed = text;
        const auto from = below(text.size());
        changed.insert(below(changed.size()), text.substr(from, below(200)));
        must_read_or_refuse(changed);
      }
    }
  }
}
