// OpenMPI, opened only when mpirun started the process: the binary runs where there is none. Its handles are addresses of
// the library's objects, which mpi.h's macros would link against.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdint>
#include <cstdlib>

#include "calibrate/measure/library.hpp"
#include "calibrate/measure/world.hpp"
#include "model/input_error.hpp"

namespace napkin::measure {

struct World::Mpi {
  Library library{{"libmpi.so.40", "libmpi.so"}, ""};
#define NAPKIN_MPI(f) decltype(&::f) f = library.symbol<decltype(&::f)>(#f)
  NAPKIN_MPI(MPI_Init);
  NAPKIN_MPI(MPI_Finalize);
  NAPKIN_MPI(MPI_Abort);
  NAPKIN_MPI(MPI_Comm_rank);
  NAPKIN_MPI(MPI_Comm_size);
  NAPKIN_MPI(MPI_Comm_split_type);
  NAPKIN_MPI(MPI_Bcast);
  NAPKIN_MPI(MPI_Allreduce);
  NAPKIN_MPI(MPI_Win_allocate);
  NAPKIN_MPI(MPI_Win_free);
  NAPKIN_MPI(MPI_Win_lock);
  NAPKIN_MPI(MPI_Win_unlock);
  NAPKIN_MPI(MPI_Barrier);
  NAPKIN_MPI(MPI_Fetch_and_op);
#undef NAPKIN_MPI
  template <class Handle>
  Handle object(const char* name) const {
    return static_cast<Handle>(library.address(name));
  }
  MPI_Comm all = object<MPI_Comm>("ompi_mpi_comm_world");
  MPI_Datatype byte = object<MPI_Datatype>("ompi_mpi_byte"), real = object<MPI_Datatype>("ompi_mpi_double");
  MPI_Datatype integer = object<MPI_Datatype>("ompi_mpi_int64_t");
  MPI_Op least = object<MPI_Op>("ompi_mpi_op_min"), sum = object<MPI_Op>("ompi_mpi_op_sum");
  MPI_Info no_info = object<MPI_Info>("ompi_mpi_info_null");
  // Rank 0's count of what next() has dealt, in memory that all ranks reach.
  MPI_Win window = nullptr;
  std::int64_t* dealt = nullptr;
};

World::World(const char* command) {
  if (!started_by_mpirun()) return;
  try {
    mpi_ = std::make_unique<Mpi>();
  } catch (const Unsupported& e) {
    throw InputError(std::string(command) + ": mpirun started this process, but MPI cannot be used: " + e.what());
  }
  // An error of MPI ends all processes: its own default.
  mpi_->MPI_Init(nullptr, nullptr);
  mpi_->MPI_Comm_rank(mpi_->all, &rank_);
  mpi_->MPI_Comm_size(mpi_->all, &size_);
  MPI_Comm host = nullptr;
  mpi_->MPI_Comm_split_type(mpi_->all, MPI_COMM_TYPE_SHARED, 0, mpi_->no_info, &host);
  mpi_->MPI_Comm_rank(host, &local_rank_);
  hosts_ = 0;
  for (int rank = 0; rank < size_; ++rank) {
    int leads = rank == rank_ && local_rank_ == 0 ? 1 : 0;
    mpi_->MPI_Bcast(&leads, sizeof leads, mpi_->byte, rank, mpi_->all);
    hosts_ += leads;
  }
}

World::~World() {
  if (!mpi_) return;
  if (mpi_->window != nullptr) mpi_->MPI_Win_free(&mpi_->window);
  mpi_->MPI_Finalize();
}

void World::share(void* bytes, std::size_t count) const {
  if (mpi_) mpi_->MPI_Bcast(bytes, static_cast<int>(count), mpi_->byte, 0, mpi_->all);
}

void World::least(std::vector<double>& values) const {
  if (!mpi_) return;
  auto mine = values;
  mpi_->MPI_Allreduce(mine.data(), values.data(), static_cast<int>(values.size()), mpi_->real, mpi_->least, mpi_->all);
}

std::vector<std::string> World::texts(const std::string& mine) const {
  if (!mpi_) return {mine};
  std::vector<std::string> out;
  for (int rank = 0; rank < size_; ++rank) {
    std::string text = rank == rank_ ? mine : "";
    std::size_t length = text.size();
    mpi_->MPI_Bcast(&length, sizeof length, mpi_->byte, rank, mpi_->all);
    text.resize(length);
    mpi_->MPI_Bcast(text.data(), static_cast<int>(length), mpi_->byte, rank, mpi_->all);
    out.push_back(std::move(text));
  }
  return out;
}

std::size_t World::next() const {
  if (!mpi_) return dealt_++;
  if (mpi_->window == nullptr) {
    constexpr MPI_Aint size = sizeof(std::int64_t);
    mpi_->MPI_Win_allocate(size, static_cast<int>(size), mpi_->no_info, mpi_->all, &mpi_->dealt, &mpi_->window);
    mpi_->MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, mpi_->window);
    *mpi_->dealt = 0;
    mpi_->MPI_Win_unlock(rank_, mpi_->window);
    mpi_->MPI_Barrier(mpi_->all);
  }
  const std::int64_t one = 1;
  std::int64_t mine = 0;
  mpi_->MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, mpi_->window);
  mpi_->MPI_Fetch_and_op(&one, &mine, mpi_->integer, 0, 0, mpi_->sum, mpi_->window);
  mpi_->MPI_Win_unlock(0, mpi_->window);
  return static_cast<std::size_t>(mine);
}

void World::abandon(int exit_code) const {
  if (mpi_) mpi_->MPI_Abort(mpi_->all, exit_code);
  std::_Exit(exit_code);
}

}  // namespace napkin::measure
