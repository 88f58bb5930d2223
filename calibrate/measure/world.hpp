// The processes of a run: one, or under OpenMPI's mpirun one a GPU over any number of hosts.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace napkin::measure {

class World {
  struct Mpi;
  std::unique_ptr<Mpi> mpi_;  // null: this process is alone
  int rank_ = 0, size_ = 1, local_rank_ = 0, hosts_ = 1;
  mutable std::size_t dealt_ = 0;  // alone: numbers next() has given

 public:
  // Joins the others when mpirun started this process. InputError that names `command` when it did and this napkin cannot:
  // built without OpenMPI, or its library is not found.
  explicit World(const char* command = "calibrate measure");
  ~World();  // leaves them
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] bool alone() const { return size_ == 1; }
  [[nodiscard]] bool first() const { return rank_ == 0; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int local_rank() const { return local_rank_; }  // among those of this host
  [[nodiscard]] int hosts() const { return hosts_; }

  // Every rank calls each of these, in the same order. Alone, they leave their argument as it is.
  // What rank 0 has.
  void share(void* bytes, std::size_t count) const;
  // The least over the ranks, member by member.
  void least(std::vector<double>& values) const;
  // The text of every rank, in their order.
  [[nodiscard]] std::vector<std::string> texts(const std::string& mine) const;
  // 0, 1, 2 …: each number goes to one rank, whichever asks next; rank 0 keeps the count. Every rank asks at least once, from
  // the thread that made the World.
  [[nodiscard]] std::size_t next() const;
  // Ends the run on every rank, which need not call it.
  [[noreturn]] void abandon(int exit_code) const;
};

// mpirun started this process as one of several.
[[nodiscard]] bool started_by_mpirun();
// What OpenMPI says of this process before it is asked: 0 unless mpirun started it.
[[nodiscard]] int mpirun_rank();

}  // namespace napkin::measure
