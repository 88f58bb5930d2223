// Kernels and collectives with the prices they were given before.
#pragma once

#include "model/collective/collective.hpp"
#include "model/kernel/kernel.hpp"
#include "model/step/layout.hpp"
#include "model/step/memo.hpp"

namespace napkin {

// Times of gemm_cost(), attention_cost() and collective_cost() for one job. A search meets the same product or message under
// many layouts: plain times are kept, explained ones derived anew.
template <class K>
class Prices {
 public:
  Prices(Scope<K> scope, const Job& job) : scope_(scope), job_(job) {}
  [[nodiscard]] SecondsT<K> gemm(Format format, double input_bytes, double output_bytes, const GemmShape<K>& shape);
  [[nodiscard]] SecondsT<K> attention(std::string_view kernel, const AttentionShape<K>& shape, Pass pass);
  [[nodiscard]] SecondsT<K> collective(Operation operation, BytesT<K> bytes, const Group& group);

 private:
  Scope<K> scope_;
  const Job& job_;
  Memo<7, Seconds, std::vector> gemms_{};        // the shape's numbers, bytes in and out, format and whether grouped
  Memo<8, Seconds, std::vector> attentions_{};   // the shape's numbers, mask and pass
  Memo<4, Seconds, std::vector> collectives_{};  // bytes, stride, size and operation, blocks
};

}  // namespace napkin
