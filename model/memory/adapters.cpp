#include "model/memory/adapters.hpp"

namespace napkin {

std::vector<LinearShape> layer_linears(double hidden, double heads, double kv_heads, double head_dim, double ffn,
                                       bool gated) {
  std::vector<LinearShape> out{{"q", hidden, heads * head_dim},
                               {"k", hidden, kv_heads * head_dim},
                               {"v", hidden, kv_heads * head_dim},
                               {"o", heads * head_dim, hidden}};
  if (ffn > 0) {
    if (gated) out.push_back({"gate", hidden, ffn});
    out.push_back({"up", hidden, ffn});
    out.push_back({"down", ffn, hidden});
  }
  return out;
}

template <class K>
ScalarT<K> adapter_parameters(const Scope<K>& scope, const std::vector<LinearShape>& targets, ScalarT<K> rank,
                              ScalarT<K> layers) {
  ScalarT<K> ends(0);
  for (const LinearShape& t : targets)
    ends = ends + scope.input("d_in+d_out", t.in + t.out, t.name);
  return let("P_adapter", layers * rank * ends, "hu2021lora");
}

template Scalar adapter_parameters<Plain>(const Scope<Plain>&, const std::vector<LinearShape>&, Scalar, Scalar);
template ScalarT<Traced> adapter_parameters<Traced>(const Scope<Traced>&, const std::vector<LinearShape>&,
                                                    ScalarT<Traced>, ScalarT<Traced>);

}  // namespace napkin
