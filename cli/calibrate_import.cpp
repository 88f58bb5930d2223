// napkin calibrate import: other tools' timings → the JSON lines that fit and check read. Lines go to stdout or a file,
// what became of the rows to stderr.
#include <fmt/format.h>

#include <fstream>
#include <memory>

#include "calibrate/import/import.hpp"
#include "cli/calibrate.hpp"
#include "model/input_error.hpp"
#include "model/text.hpp"

namespace napkin::cli {
namespace {

using namespace napkin::fit;

struct Options {
  std::vector<std::string> files;
  std::string format, device, output;
};

constexpr std::size_t most_listed = 20;

std::optional<ImportFormat> format_of(const std::string& word) {
  if (word.empty()) return {};
  std::string known;
  for (std::size_t i = 0; i < import_format_names.size(); ++i) {
    if (word == import_format_names[i]) return static_cast<ImportFormat>(i);
    known += (known.empty() ? "" : ", ") + std::string(import_format_names[i]);
  }
  throw InputError(fmt::format("--format: \"{}\" is not a format; write one of {}", word, known));
}

void tell(const std::string& file, const Imported& imported) {
  note(fmt::format("{}: {}, {} samples", file, import_format_names[static_cast<std::size_t>(imported.format)], imported.samples));
  for (const auto& n : imported.notes) note(fmt::format("{}: {}", file, n));
  std::size_t listed = 0;
  for (const auto& u : imported.unmatched) {
    if (++listed > most_listed) {
      note(fmt::format("{}: and {} more kinds not placed", file, imported.unmatched.size() - most_listed));
      break;
    }
    note(fmt::format("{}: not placed: {} x {}{}: {}", file, u.n, u.name,
                     u.seconds > 0 ? " (" + format(Seconds::si(u.seconds)) + ")" : "", u.why));
  }
}

void run(const Options& o, Session& session) {
  const ImportOptions options{.format = format_of(o.format), .device = o.device};
  refuse_output("-o", o.output, o.files);
  std::string text;
  std::size_t samples = 0;
  for (const auto& file : o.files) {
    const auto imported = import_timings(file, options);
    for (const auto& line : imported.lines) text += line + '\n';
    samples += imported.samples;
    tell(file, imported);
  }
  if (samples == 0) session.exit_code = 1;
  if (o.output.empty()) return print(text);
  std::ofstream out(o.output, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw InputError(o.output + ": cannot be written");
}

}  // namespace

void add_calibrate_import(CLI::App& calibrate, Session& session) {
  auto* c = calibrate.add_subcommand("import", "Turn other tools' timings into measurements that fit and check read");
  const auto o = std::make_shared<Options>();
  c->add_option("files", o->files, "Output of nccl-tests or nvbandwidth, a kernel table (CSV, JSON lines), a PyTorch trace, an Nsight Systems kernel summary (CSV)")
      ->required();
  c->add_option("--format", o->format, "nccl-tests, nvbandwidth, kernels, kineto or nsys (default: told from the text)");
  c->add_option("--device", o->device, "Name of the device, where the file has none: \"NVIDIA H200\"");
  c->add_option("-o,--output", o->output, "The file to write (default: stdout)");
  c->footer("Examples:\n  napkin calibrate import examples/measurements/all_reduce_perf.txt\n"
            "  napkin calibrate import examples/measurements/kernels.csv --device \"NVIDIA H200\"");
  c->callback([o, &session] { run(*o, session); });
}

}  // namespace napkin::cli
