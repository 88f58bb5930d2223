#include "cli/validation_record.hpp"

#include <nlohmann/json.hpp>

namespace napkin::cli {

std::string record_of_log(const validation::LogRun& run, const std::string& path, const JobFlags& job, const LayoutFlags& layout) {
  auto j = nlohmann::ordered_json::parse(run.record);
  // apply() reads the flags as every command does; what it set is written back.
  RunRequest r;
  apply(job, r);
  apply(layout, r);
  const auto put = [&](const char* key, const auto& v) {
    if (v) j[key] = *v;
  };
  if (job.model) j["model"] = *job.model;
  put("hardware", r.hardware);
  put("framework", r.framework);
  put("precision", r.precision);
  put("year", r.year);
  put("gpus", r.gpus);
  put("seq_len", r.sequence);
  put("micro_batch", r.micro_batch);
  if (job.convention) j["convention"] = *job.convention;
  if (layout.recompute) j["recompute"] = *layout.recompute;
  if (r.batch) {
    std::int64_t sequences = r.batch->sequences;
    if (r.batch->tokens > 0) {
      if (!j.contains("seq_len") || r.batch->tokens % j["seq_len"].get<std::int64_t>() != 0)
        throw InputError("--batch: is not whole sequences of the log's length; write sequences");
      sequences = r.batch->tokens / j["seq_len"].get<std::int64_t>();
    }
    j["global_batch"] = sequences;
  }
  auto& l = j["layout"];
  const auto axis = [&](const char* key, const auto& v) {
    if (v) l[key] = *v;
  };
  axis("tp", r.tp);
  axis("sp", r.sp);
  axis("cp", r.cp);
  axis("ep", r.ep);
  axis("etp", r.etp);
  axis("pp", r.pp);
  axis("vpp", r.vpp);
  axis("dp", r.dp);
  axis("zero", r.zero);
  axis("zero_group", r.zero_group);
  axis("schedule", r.schedule);
  if (l.is_null()) j.erase("layout");
  nlohmann::ordered_json out{{"id", path.substr(path.rfind('/') + 1)}, {"source", "training log"}};
  out.update(j);
  return out.dump();
}

bool given(const JobFlags& j, const LayoutFlags& l) {
  return j.model || j.gpus || j.hardware || j.sequence || j.batch || j.framework || j.precision || j.convention || j.year || l.tp ||
         l.cp || l.ep || l.etp || l.pp || l.vpp || l.micro_batch || l.zero || l.dp || l.zero_group || l.sp || l.schedule || l.recompute;
}

}  // namespace napkin::cli
