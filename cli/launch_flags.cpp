#include "cli/launch_flags.hpp"

#include <fmt/format.h>

#include <array>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "model/launch/launch_input.hpp"
#include "model/launch/target_input.hpp"
#include "model/validation/launch_arguments_input.hpp"

namespace napkin::cli {
namespace {

std::string text_of(const std::string& path) {
  if (path != "-") return read_text(path);
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

// The fact behind a field of a run record, where they differ in name.
std::string fact_of(std::string_view field) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> renamed{
      {{"seq_len", "sequence"}, {"batch", "global_batch"}, {"zero_group", "replicas"}}};
  for (const auto& [name, fact] : renamed)
    if (field == name) return std::string(fact);
  return std::string(field);
}

}  // namespace

void add_launch_options(CLI::App& command, LaunchFlags& f) {
  command
      .add_option("--from", f.from,
                  "Launch configuration instead of a record: megatron-args, torchtitan, nanotron, deepspeed, maxtext ... and its file (- is standard input)")
      ->type_name("TARGET FILE")
      ->expected(2);
}

LaunchedRequest read_request(const std::string& record, const LaunchFlags& launch, const JobFlags& job, const LayoutFlags& layout) {
  if (!launch.given()) return {.request = read_request(record, job, layout), .reading = {}};
  if (!record.empty()) throw InputError("--from: a run record is given too; write one of them");
  const launch::Target target = launch::read_target(launch.from[0]);
  const std::string name = launch.from[1] == "-" ? "standard input" : launch.from[1];
  const std::string text = text_of(launch.from[1]);
  LaunchedRequest out;
  RunRequest flags;
  apply(job, flags);
  std::string json;
  if (target.files.front().format == launch::Format::arguments && validation::prints_arguments(text)) {
    json = validation::record_of_launch(text, name);
  } else {
    launch::LaunchText read = launch::read_launch(
        text, name, target, {.gpus = flags.gpus.value_or(0), .layers = flags.model ? static_cast<std::int64_t>(flags.model->depth()) : 0});
    json = std::move(read.record);
    out.reading = std::move(read.reading);
  }
  auto j = nlohmann::ordered_json::parse(json);
  j["framework"] = target.profile;
  if (job.model) j["model"] = *job.model;
  if (!j.contains("model")) throw InputError(name + ": does not state the model's shape; add --model");
  RunRequest& r = out.request;
  r = read_run_record(Document::parse(j.dump(), name + " as a run record").root());
  r.place = [places = out.reading ? out.reading->places : std::map<std::string, std::string, std::less<>>()](std::string_view field) {
    const auto at = places.find(fact_of(field));
    return at == places.end() ? flag_of(field) : at->second;
  };
  apply(job, r);
  apply(layout, r);
  return out;
}

void note_reading(const LaunchedRequest& launched, const Run& run) {
  if (!launched.reading) return;
  const auto& unread = launched.reading->unread;
  if (!unread.empty()) {
    constexpr std::size_t shown = 24;
    std::string list;
    for (std::size_t i = 0; i < unread.size() && i < shown; ++i) list += (i == 0 ? "" : ", ") + one_line(unread[i], 60);
    if (unread.size() > shown) list += fmt::format(" and {} more", unread.size() - shown);
    note(fmt::format("{} setting{} not read: {}", unread.size(), unread.size() == 1 ? "" : "s", list));
  }
  for (const std::string& d : launch::differences(*launched.reading, launch::facts_of(run))) note(d);
}

}  // namespace napkin::cli
