// What a build without CUDA has in place of the benches.
#include "calibrate/measure/case.hpp"
#include "calibrate/measure/measure.hpp"
#include "calibrate/measure/world.hpp"
#include "model/input_error.hpp"

namespace napkin::measure {

Result run(const Options& options) {
  if (mpirun_rank() > 0) return {.silent = true};
  (void)plan(options.groups, {}, true);  // a wrong --groups is told first, as where CUDA is there
  throw InputError("calibrate measure: this napkin was built without CUDA; configure with -DNAPKIN_CUDA=ON (preset cuda)");
}

}  // namespace napkin::measure
