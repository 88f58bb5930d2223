// napkin roofline: an operator, or a product M x N x K, against the memory and the arithmetic of a machine.
#include "cli/calculator.hpp"
#include "model/kernel/roofline.hpp"

namespace napkin::cli {
namespace {

void bound(Answer& a, const Roofline<T>& r) {
  a.add("flops_per_byte", "arithmetic intensity", r.intensity);
  a.add("ridge_flops_per_byte", "ridge of the machine", r.ridge);
  a.label("bound", "bound", r.compute_bound ? "compute-bound" : "memory-bound");
  a.add("math_time_s", "arithmetic", r.math);
  a.add("memory_time_s", "memory traffic", r.memory);
  a.add("time_s", "time: the longer of the two", r.lower);
  a.add("no_overlap_time_s", "... when nothing overlaps", r.upper);
  a.add("attainable_flops_per_s", "attainable", r.attainable);
  a.add("share_of_peak", "... of the peak", r.share, Show::percent);
}

void compute(const Given& g, Answer& a) {
  const ElementBytes<T> element{g.bytes("--a-bytes", "b_a"), g.bytes("--b-bytes", "b_b"), g.bytes("--c-bytes", "b_c")};
  const auto devices = g.number("--devices", "n");
  const bool product = g.typed("--n") && g.typed("--k");
  if (g.typed("--m") && product) {
    const auto m = g.number("--m", "m"), n = g.number("--n", "n"), k = g.number("--k", "k");
    const auto flops = product_flops(m, n, k);
    const auto bytes = product_bytes(m, n, k, element);
    a.add("flops", "FLOPs: 2mnk", flops);
    a.add("bytes", "bytes: both operands and the result once", bytes);
    bound(a, roofline(flops, bytes, devices, g.peak(), g.memory_bandwidth()));
  } else if (g.typed("--flops") || g.typed("--bytes")) {
    const auto flops = g.typed("--flops") ? g.flops("--flops", "FLOPs") : FlopsT<T>{};
    const auto bytes = g.typed("--bytes") ? g.bytes("--bytes", "bytes") : BytesT<T>{};
    const auto r = roofline(flops, bytes, devices, g.peak(), g.memory_bandwidth());
    if (g.typed("--bytes") && g.typed("--flops")) {
      bound(a, r);
    } else {
      a.add("time_s", "time", r.lower);
    }
  } else if (g.typed("--elements")) {
    const auto n = g.number("--elements", "elements");
    const auto flops = let("FLOPs", n * g.number("--flops-per-element", "f") * flop);
    const auto bytes = let("bytes", n * g.number("--passes", "passes") * g.bytes("--element-bytes", "b"));
    a.add("flops", "FLOPs", flops);
    a.add("bytes", "bytes: each tensor read or written is a pass", bytes);
    bound(a, roofline(flops, bytes, devices, g.peak(), g.memory_bandwidth()));
  }
  const auto at = ridge(g.peak(), g.memory_bandwidth());
  if (a.figures.empty()) a.add("ridge_flops_per_byte", "ridge of the machine", at);
  if (product || (!g.typed("--flops") && !g.typed("--bytes") && !g.typed("--elements") && !g.typed("--tile"))) {
    a.add("critical_batch", "rows (tokens) above which it is compute-bound, weights only", critical_rows(at, element.b));
    if (g.typed("--experts"))
      a.add("critical_batch_moe", "... of a mixture of experts: times E/k",
            let("B_crit_moe", critical_rows(at, element.b) * g.number("--experts", "E") / g.number("--top-k", "k_e")));
  }
  if (product) {
    const auto n = g.number("--n", "n"), k = g.number("--k", "k");
    const auto exact = exact_critical_rows(at, n, k, element);
    if (exact.si() > 0) {
      a.add("critical_batch_exact", "... with the activations counted", exact);
    } else {
      a.label("critical_batch_exact", "... with the activations counted", "never: n and k are too small");
    }
  }
  if (g.typed("--tile")) {
    const std::string tile = g.word("--tile");
    const auto x = tile.find('x');
    if (x == tile.npos) throw InputError("--tile: \"" + tile + "\" is not a tile; write rows x columns, such as 128x256");
    const auto side = [&](const std::string& text, const char* symbol) {
      char* end = nullptr;
      const double v = std::strtod(text.c_str(), &end);
      if (text.empty() || *end != '\0' || !(v >= 1) || v > 1e6) throw InputError("--tile: \"" + tile + "\" is not a tile; write rows x columns, such as 128x256");
      return g.scope().input(symbol, v, "--tile");
    };
    const auto rows = side(tile.substr(0, x), "bm"), columns = side(tile.substr(x + 1), "bn");
    a.add("tile_flops_per_byte", "intensity of a tile that streams its operands", tile_intensity(rows, columns, element));
    if (g.typed("--m") && g.typed("--n")) {
      const auto units = g.typed("--units") ? g.number("--units", "units") : g.scope().read("units", g.hardware().accelerator.units);
      const auto w = waves(g.number("--m", "m"), g.number("--n", "n"), rows, columns, units);
      a.add("tiles", "tiles", w.tiles);
      a.add("waves", "waves", w.waves);
      a.add("wave_efficiency", "of the last wave's and all slots used", w.wave_efficiency, Show::percent);
      a.add("tile_efficiency", "of the tiles' area used", w.tile_efficiency, Show::percent);
    }
  }
  a.conventions.push_back("dense peak; 2 FLOPs a multiply-add; an operand is read once (perfect reuse on chip)");
  a.neglected.push_back("launch (about 3-5 us), bandwidth and arithmetic below the datasheet (70-90 %), L2");
  a.follow_up = "which batch makes it compute-bound, and does fp8 move that batch?";
}

}  // namespace

void add_roofline(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "roofline",
                  .description = "Roofline of an operator or a product MxNxK: bound, time, ridge, critical batch, tiles and waves",
                  .parameters = OptionList{
                      {"--m", Reads::tokens, "Product: rows of the result (tokens)"},
                      {"--n", Reads::tokens, "Product: columns (outputs)"},
                      {"--k", Reads::tokens, "Product: contracted (inputs)"},
                      {"--a-bytes", Reads::bytes, "Bytes of an activation", "2"},
                      {"--b-bytes", Reads::bytes, "Bytes of a weight", "2"},
                      {"--c-bytes", Reads::bytes, "Bytes of a result", "2"},
                      {"--experts", Reads::count, "Experts E of a mixture (with --top-k)"},
                      {"--top-k", Reads::count, "Experts of a token"},
                      {"--tile", Reads::word, "Output tile: 128x256"},
                      {"--units", Reads::count, "Units that tiles are spread over (SMs)"},
                      {"--flops", Reads::flops, "Any operator: its FLOPs"},
                      {"--bytes", Reads::bytes, "Any operator: its bytes"},
                      {"--elements", Reads::count, "Element-wise: elements of a tensor"},
                      {"--passes", Reads::number, "Element-wise: tensors read or written", "3"},
                      {"--element-bytes", Reads::bytes, "Element-wise: bytes of an element", "2"},
                      {"--flops-per-element", Reads::number, "Element-wise: FLOPs of an element", "1"},
                      {"--devices", Reads::count, "Accelerators that share the work evenly", "1"}} + machine_options,
                  .compute = compute,
                  .examples = "  napkin roofline --m 4096 --n 4096 --k 4096 --tile 128x256\n"
                              "  napkin roofline --hw tpu-v5e --b-bytes 1\n"
                              "  napkin roofline --elements 67108864 --passes 6,4"});
}

}  // namespace napkin::cli
