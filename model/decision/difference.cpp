#include "model/decision/difference.hpp"

namespace napkin {

Seconds Difference::time_change() const {
  Seconds sum{};
  for (const auto& t : time) sum += t.change();
  return sum;
}

Bytes Difference::memory_change() const {
  Bytes sum{};
  for (const auto& t : memory) sum += t.change();
  return sum;
}

Difference difference(const StepCost<Plain>& a, const StepCost<Plain>& b) {
  Difference d;
  for (std::size_t t = 0; t < term_count; ++t) d.time.push_back({term_names[t], a.terms[t], b.terms[t]});
  using Memory = StageMemory<Plain>;
  constexpr std::array<std::pair<std::string_view, Bytes Memory::*>, 9> parts{
      {{"parameters", &Memory::parameters},
       {"gradients", &Memory::gradients},
       {"optimizer", &Memory::optimizer},
       {"activations", &Memory::activations},
       {"logits and loss", &Memory::logits},
       {"transient", &Memory::transient},
       {"workspaces, buffers", &Memory::buffers},
       {"fragmentation", &Memory::fragmentation},
       {"context, communicators", &Memory::overhead}}};
  for (const auto& [name, part] : parts) d.memory.push_back({name, a.memory.*part, b.memory.*part});
  return d;
}

}  // namespace napkin
