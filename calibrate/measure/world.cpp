#include "calibrate/measure/world.hpp"

#include <cstdlib>

namespace napkin::measure {

bool started_by_mpirun() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  return size != nullptr && std::atoi(size) > 1;
}

int mpirun_rank() {
  const char* rank = started_by_mpirun() ? std::getenv("OMPI_COMM_WORLD_RANK") : nullptr;
  return rank == nullptr ? 0 : std::atoi(rank);
}

}  // namespace napkin::measure
