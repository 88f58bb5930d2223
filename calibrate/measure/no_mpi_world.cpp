// Built without OpenMPI's header.
#include <cstdlib>

#include "calibrate/measure/world.hpp"
#include "model/input_error.hpp"

namespace napkin::measure {

struct World::Mpi {};

World::World(const char* command) {
  if (started_by_mpirun())
    throw InputError(std::string(command) + ": this napkin was built without OpenMPI and cannot run under mpirun; build it where mpi.h is found");
}
World::~World() = default;
void World::share(void*, std::size_t) const {}
void World::least(std::vector<double>&) const {}
std::vector<std::string> World::texts(const std::string& mine) const { return {mine}; }
std::size_t World::next() const { return dealt_++; }
void World::abandon(int exit_code) const { std::_Exit(exit_code); }

}  // namespace napkin::measure
