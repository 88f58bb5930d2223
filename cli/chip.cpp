// napkin chip: what the parts of a chip add up to.
#include <fmt/format.h>

#include "cli/calculator.hpp"
#include "model/kernel/roofline.hpp"

namespace napkin::cli {
namespace {

void compute(const Given& g, Answer& a) {
  if (g.typed("--registers"))
    a.add("resident_warps", "warps that the registers hold", resident_warps(g.bytes("--register-file", "register_file"), g.number("--registers", "registers"), g.number("--warp", "warp")));
  if (g.typed("--rows") || g.typed("--columns")) {
    const auto rows = g.number("--rows", "rows"), columns = g.number("--columns", "columns");
    const auto tall = padded(rows, g.number("--tile-rows", "tile_rows")), wide = padded(columns, g.number("--tile-columns", "tile_columns"));
    a.add("padded_rows", "rows as stored", tall);
    a.add("padded_columns", "columns as stored", wide);
    a.add("expansion", "memory over what is used", let("expansion", tall * wide / (rows * columns)), Show::factor);
  }
  if (g.typed("--units") || g.typed("--lanes")) {
    const auto units = g.typed("--units") ? g.number("--units", "units") : g.scope().read("units", g.hardware().accelerator.units);
    const auto lanes = g.number("--lanes", "lanes"), each = g.number("--flops-per-lane", "per_cycle");
    a.add("alus", "arithmetic units", let("ALUs", units * lanes));
    a.add("flops_per_cycle", "FLOPs a cycle", let("per_cycle", units * lanes * each));
    if (g.typed("--rate")) a.add("clock_hz", "clock that this rate implies", clock_of(g.flop_rate("--rate", "rate"), units, lanes, each));
    if (g.typed("--clock")) a.add("rate_flops_per_s", "rate at this clock", rate_of_lanes(g.rate("--clock", "clock"), units, lanes, each));
  }
  if (g.typed("--hw")) {
    const auto& c = g.hardware().accelerator;
    a.add("units", "units (SMs, matrix units)", g.scope().read("units", c.units));
    a.add("memory_bytes", "memory", g.scope().read("M", c.capacity), Show::gib);
    a.add("memory_bandwidth_bytes_per_s", "memory bandwidth", g.memory_bandwidth());
    a.add("read_all_s", "reading all of it", let("T", g.memory() / g.memory_bandwidth()));
    a.add("peak_flops_per_s", "dense peak", g.peak());
    a.add("ridge_flops_per_byte", "ridge", ridge(g.peak(), g.memory_bandwidth()));
    if (g.typed("--count")) {
      const auto n = g.number("--count", "n");
      a.add("total_memory_bytes", "memory of --count of them", let("M_all", n * g.memory()), Show::gib);
      a.add("total_memory_bandwidth_bytes_per_s", "memory bandwidth of all", let("W_all", n * g.memory_bandwidth()));
      a.add("total_flops_per_s", "dense peak of all", let("C_all", n * g.peak()));
      a.add("hosts", "hosts", let("hosts", ceil(n / (g.typed("--per-host") ? g.number("--per-host", "per_host") : g.scope().input("per_host", g.hardware().network.node_size, "accelerators that share a host")))));
    }
    if (c.power) a.add("flops_per_joule", "FLOPs a joule at the peak", let("F_per_J", g.peak() / g.scope().read("power", *c.power)));
    if (c.price_per_hour) a.add("flops_per_usd", "FLOPs a dollar at the peak", let("F_per_usd", g.peak() * SecondsT<T>(3600 * second) / g.scope().read("price", *c.price_per_hour)));
  }
  a.conventions.push_back("a fused multiply-add is two FLOPs; a register is 4 bytes; dense peak");
  a.neglected.push_back("limits of shared memory and of threads on residency");
  a.follow_up = "what does halving the registers of a thread buy?";
}

}  // namespace

void add_chip(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "chip",
                  .description = "Parts of a chip: ALUs, clock from a rate, warps that registers hold, padding to tiles, FLOPs per joule and dollar",
                  .parameters = OptionList{
                      {"--units", Reads::count, "Units: SMs, cores (default: the machine's)"},
                      {"--lanes", Reads::count, "Arithmetic units of each", "128"},
                      {"--flops-per-lane", Reads::number, "FLOPs of a lane a cycle", "2"},
                      {"--rate", Reads::flop_rate, "Rate that is claimed: gives the clock"},
                      {"--clock", Reads::frequency, "Clock: gives the rate"},
                      {"--register-file", Reads::bytes, "Registers of a unit", "256 KiB"},
                      {"--registers", Reads::count, "Registers of a thread"},
                      {"--warp", Reads::count, "Threads of a warp", "32"},
                      {"--rows", Reads::count, "Padding: rows of an array"},
                      {"--columns", Reads::count, "Padding: columns"},
                      {"--tile-rows", Reads::count, "Padding: rows of a tile", "8"},
                      {"--tile-columns", Reads::count, "Padding: columns of a tile", "128"},
                      {"--count", Reads::count, "With --hw: so many of them together"},
                      {"--per-host", Reads::count, "Accelerators of a host (default: the machine's)"},
                      {"--memory", Reads::bytes, "Memory, instead of the machine's"}} + machine_options,
                  .compute = compute,
                  .examples = "  napkin chip --units 132 --lanes 128\n"
                              "  napkin chip --hw tpu-v5p --count 8960\n"
                              "  napkin chip --rows 3 --columns 5 --tile-rows 2 --tile-columns 2"});
}

}  // namespace napkin::cli
