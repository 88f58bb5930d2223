#include "model/step/spread.hpp"

#include "model/step/layout.hpp"

namespace napkin {

std::string_view workload_kind(const Job& job) {
  if (job.adapters.any()) return "lora";
  bool experts = false, recurrent = false;
  for (const LayerKind& k : job.model->kinds) {
    experts = experts || k.ffn.moe;
    recurrent = recurrent || k.mamba || k.linear;
  }
  return recurrent ? "hybrid" : experts ? "moe" : "dense";
}

}  // namespace napkin
