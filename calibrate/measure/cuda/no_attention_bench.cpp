// Built without cuDNN's headers.
#include "calibrate/measure/cuda/bench.hpp"

namespace napkin::measure {

std::unique_ptr<Bench> attention_bench(Context&) {
  throw Unsupported("built without cuDNN's headers (CUDNN_ROOT, CUDNN_FRONTEND_ROOT); attention can be imported from a file");
}
std::string cudnn_version(const std::string&) { return ""; }

}  // namespace napkin::measure
