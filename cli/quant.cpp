// napkin quant: bits of an element with its scales, bytes of a model, what a faster format buys.
#include <fmt/format.h>

#include "cli/calculator.hpp"
#include "model/memory/number_format.hpp"

namespace napkin::cli {
namespace {

void compute(const Given& g, Answer& a) {
  QuantFormat f{"given", "given", "given"};
  if (g.typed("--bits")) {
    f.bits = g.value("--bits");
    f.scale = g.typed("--scale-bits") ? g.value("--scale-bits") : 0;
    f.block = g.value("--block");
    f.zero = g.value("--zero-bits");
    f.scale2 = g.typed("--scale2-bits") ? g.value("--scale2-bits") : 0;
    f.block2 = g.value("--block2");
    if (!(f.block >= 1) || !(f.block2 >= 1)) throw InputError("--block and --block2 are at least 1");
  } else {
    const auto known = quant_format_named(g.word("--to"));
    std::string names;
    for (const auto& q : quant_formats()) names += std::string(q.name) + " ";
    if (!known) throw InputError(fmt::format("--to: \"{}\" is not a format; write one of {}or --bits with --scale-bits and --block", g.word("--to"), names));
    f = *known;
    a.label("format", "format", fmt::format("{}: {}", f.name, f.what));
  }
  const auto bits = bits_per_element(g.scope(), f);
  a.add("bits_per_element", "bits of an element, scales included", bits);
  a.add("bytes_per_element", "bytes of an element", let("b", bits * (byte / 8)));
  a.add("scale_overhead", "scales over elements", let("overhead", bits / g.scope().input("bits", f.bits, f.name) - 1), Show::percent);
  a.add("compression", "16-bit over this", let("compression", 16 / bits), Show::factor);
  if (g.has_parameters()) {
    const auto p = g.parameters();
    const auto kept = g.number("--kept", "kept");
    const auto bytes = let("M", p * (1 - kept) * bits * (byte / 8) + p * kept * (2 * byte));
    a.add("model_bytes", "bytes of the model", bytes, Show::gib);
    a.add("model_bytes_16bit", "... in 16-bit", let("M_16", p * (2 * byte)), Show::gib);
  }
  if (g.typed("--ratio"))
    a.add("speedup", "speed-up of the step", partial_speedup(g.number("--share", "share"), g.number("--ratio", "ratio")), Show::factor);
  a.conventions.push_back("bits of scales and zero points are spread over their block");
  a.neglected.push_back("padding to whole blocks; layers kept in 16-bit unless --kept; casting and transposing (lowers the speed-up)");
  a.follow_up = "why is the step not twice as fast in fp8? (attention, norms, optimizer and communication stay)";
}

}  // namespace

void add_quant(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "quant",
                  .description = "Quantised formats: bits with scales (MXFP4, NVFP4, MXFP8, FP8 blocks, NF4), model bytes, speed-up",
                  .parameters = OptionList{
                      {"--to", Reads::word, "fp8, fp8-block, fp8-tile, mxfp8, mxfp6, mxfp4, nvfp4, int8, int4, nf4, nf4-double, bf16", "mxfp8"},
                      {"--bits", Reads::number, "... or any: bits of an element"},
                      {"--scale-bits", Reads::number, "Bits of a scale"},
                      {"--block", Reads::count, "Elements that share it", "1"},
                      {"--zero-bits", Reads::number, "Bits of a zero point", "0"},
                      {"--scale2-bits", Reads::number, "Bits of a scale of scales"},
                      {"--block2", Reads::count, "Scales that share it", "1"},
                      {"--model", Reads::model, "Bytes of this model, or of --params"},
                      {"--params", Reads::count, "Parameters"},
                      {"--kept", Reads::share, "Share of them kept in 16-bit", "0"},
                      {"--ratio", Reads::number, "Speed-up of what is quantised: 2"},
                      {"--share", Reads::share, "Share of the time that it takes before", "0.8"}},
                  .compute = compute,
                  .examples = "  napkin quant --to mxfp4,nvfp4,mxfp8,fp8-block,nf4,nf4-double --params 70B\n"
                              "  napkin quant --to fp8 --ratio 2 --share 70%"});
}

}  // namespace napkin::cli
