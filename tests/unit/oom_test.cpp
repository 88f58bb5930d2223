// Out of memory: what programs print, as issue trackers show it (numbers are ours), and the changes that fixes() proposes.
#include <doctest/doctest.h>

#include <set>

#include "model/input_error.hpp"
#include "model/search/fixes.hpp"
#include "model/search/rules.hpp"
#include "model/validation/oom_message_input.hpp"
#include "tests/step_fixture.hpp"

using namespace napkin;
using namespace napkin::test;
using namespace napkin::validation;

namespace {

OomMessage read(const std::string& text) { return read_oom(text, "log"); }
double gib(const std::optional<Bytes>& b) { return b ? double(*b / GiB) : -1; }

}  // namespace

TEST_SUITE("out of memory") {
  TEST_CASE("PyTorch 1.x: all in one bracket") {
    const auto m = read("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 3; 39.39 GiB total capacity; 30.25 GiB already "
                        "allocated; 1.50 GiB free; 37.25 GiB reserved in total by PyTorch)");
    CHECK(gib(m.tried) == doctest::Approx(2));
    CHECK(gib(m.capacity) == doctest::Approx(39.39));
    CHECK(gib(m.allocated) == doctest::Approx(30.25));
    CHECK(gib(m.cached) == doctest::Approx(7));
    CHECK(gib(m.free) == doctest::Approx(1.5));
    CHECK(gib(m.need()) == doctest::Approx(32.25));
    CHECK(cause_of(m) == OomCause::fragmentation);
    // 1.0 printed what the cache holds beyond the tensors.
    const auto first = read("RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 10.92 GiB total capacity; 9.50 GiB already "
                            "allocated; 256.50 MiB free; 640.00 MiB cached)");
    CHECK(gib(first.cached) == doctest::Approx(0.625));
    CHECK(gib(first.free) == doctest::Approx(256.5 / 1024));
    CHECK(gib(read("Tried to allocate 20.00 MiB (GPU 0; 1.96 GiB total capacity; 1.24 GiB already allocated; 2.88 MiB free; 1.25 GiB reserved in "
                   "total by PyTorch)").allocated) == doctest::Approx(1.24));  // the head cut off
  }

  TEST_CASE("PyTorch 2.x: sentences, with a misspelling in the first ones") {
    for (const char* word : {"capacty", "capacity"}) {
      const auto m = read(std::string("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total ") + word +
                          " of 79.15 GiB of which 1.62 GiB is free. Including non-PyTorch memory, this process has 77.52 GiB memory in use. Of the "
                          "allocated memory 74.00 GiB is allocated by PyTorch, and 2.02 GiB is reserved by PyTorch but unallocated. If reserved but "
                          "unallocated memory is large try setting max_split_size_mb to avoid fragmentation.");
      CHECK(gib(m.capacity) == doctest::Approx(79.15));
      CHECK(gib(m.in_use) == doctest::Approx(77.52));
      CHECK(gib(m.outside()) == doctest::Approx(1.5));
      CHECK(gib(m.others()) == doctest::Approx(0.01).epsilon(0.01));
      CHECK(gib(m.shortfall()) == doctest::Approx(74 + 3 + 1.5 - 79.15));
      CHECK(cause_of(m) == OomCause::fragmentation);
    }
    const auto bare = read("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.70 GiB. GPU 0 has a total capacty of 6.00 GiB of which "
                           "0 bytes is free. Of the allocated memory 4.93 GiB is allocated by PyTorch, and 0.30 GiB is reserved by PyTorch but unallocated.");
    CHECK(bare.free->si() == 0);
    CHECK_FALSE(bare.in_use.has_value());
    CHECK(cause_of(bare) == OomCause::too_large);
  }

  TEST_CASE("PyTorch 2.5 and later: another process, private pools, ROCm") {
    const auto m = read("[rank5]: torch.OutOfMemoryError: HIP out of memory. Tried to allocate 4.00 GiB. GPU 5 has a total capacity of 191.98 GiB of which "
                        "2.00 GiB is free. Process 4242 has 60.00 GiB memory in use. Including non-PyTorch memory, this process has 129.98 GiB memory in use. "
                        "Of the allocated memory 120.00 GiB is allocated by PyTorch, with 1.50 GiB allocated in private pools (e.g., CUDA Graphs), and "
                        "1.00 GiB is reserved by PyTorch but unallocated.");
    CHECK(m.rank == 5);
    CHECK(gib(m.in_use) == doctest::Approx(129.98));
    CHECK(gib(m.allocated) == doctest::Approx(120));
    CHECK(gib(m.others()) == doctest::Approx(60));
    CHECK(cause_of(m) == OomCause::other_processes);
  }

  TEST_CASE("launchers tag, wrap and repeat it: torchrun, nanotron, DeepSpeed") {
    const auto m = read("[default0]:[rank8]: Traceback (most recent call last):\n"
                        "[default0]:[rank8]: torch.OutOfMemoryError: CUDA out of memory. Tried to\n allocate 1.96 GiB. GPU 0 has a total capacity of\n"
                        " 63.29 GiB of which 666.69 MiB is free. Including non-PyTorch memory, this process has 62.62 GiB memory in use. Of the allocated memory "
                        "57.10 GiB is allocated by PyTorch, and 3.51 GiB is reserved by PyTorch but unallocated.\n"
                        "[default1]:[rank9]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB. GPU 1 has a total capacity of 63.29 GiB\n");
    CHECK(m.messages == 2);
    CHECK(m.line == 2);
    CHECK(m.rank == 8);
    CHECK(gib(m.capacity) == doctest::Approx(63.29));
    CHECK(gib(m.allocated) == doctest::Approx(57.1));
  }

  TEST_CASE("units in any spelling") {
    const double tried = 2.0 * 0x1p30;
    for (const char* size : {"2.00 GiB", "2.00GiB", "2048 MiB", "2,048.00 MiB", "2147483648 bytes", "2,147,483,648 bytes", "2147483648B", "2G", "2097152 KiB"})
      CHECK(read(std::string("CUDA out of memory. Tried to allocate ") + size + ".").tried->si() == tried);
    CHECK(read("CUDA out of memory. Tried to allocate 2.00 GB.").tried->si() == 2e9);
  }

  TEST_CASE("XLA: an allocation, its pool's statistics, a program on a TPU") {
    const auto m = read("W external/xla/xla/tsl/framework/bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory trying to allocate 4.44GiB\n"
                        "Stats:\nLimit:                       71.00GiB\nInUse:                       70.00GiB\nMaxInUse:                    70.50GiB\n"
                        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4770354232 bytes.\n"
                        "BufferAssignment OOM Debugging.\n");
    CHECK(m.source == OomSource::xla);
    CHECK(m.tried->si() == 4770354232);
    CHECK(gib(m.capacity) == doctest::Approx(71));
    CHECK(gib(m.allocated) == doctest::Approx(70));
    CHECK(m.line == 6);
    CHECK(cause_of(m) == OomCause::too_large);
    CHECK(read("RESOURCE_EXHAUSTED: Failed to allocate request for 256.00MiB (268435456B) on device ordinal 0").tried->si() == 268435456);
    CHECK(read("Resource exhausted: Out of memory while trying to allocate 5520758552 bytes.").tried->si() == 5520758552);
    CHECK(read("RESOURCE_EXHAUSTED: Out of memory allocating 2147483648 bytes.").tried->si() == 0x1p31);

    const auto program = read("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. "
                              "Used 21.95G of 15.48G hbm. Exceeded hbm capacity by 6.47G.\n\nTotal hbm usage >= 22.47G:\n    reserved        530.00M\n");
    CHECK(gib(program.program) == doctest::Approx(21.95));
    CHECK(gib(program.capacity) == doctest::Approx(15.48));
    CHECK(gib(program.shortfall()) == doctest::Approx(6.47));
    CHECK(cause_of(program) == OomCause::too_large);

    const auto reserve = read("Resource exhausted: Attempting to reserve 3.95G at the bottom of memory. That was not possible. There are 1.92G free, 0B reserved, "
                              "and 1.92G reservable.; \nHBM capacity 8.00G:\n          Currently allocated:    6.08G (   6,532,939,776 bytes)\n");
    CHECK(gib(reserve.tried) == doctest::Approx(3.95));
    CHECK(gib(reserve.capacity) == doctest::Approx(8));
    CHECK(gib(reserve.shortfall()) == doctest::Approx(2.03));
  }

  TEST_CASE("the host's memory, and libraries beside the allocator") {
    const auto host = read("RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
                           "21474836480 bytes. Error code 12 (Cannot allocate memory)");
    CHECK(host.tried->si() == 21474836480);
    CHECK(cause_of(host) == OomCause::host_memory);
    const auto nccl = read("node:1:2 [0] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'\nnode:1:2 [0] include/alloc.h:185 NCCL WARN Failed to CUDA calloc 6291456 bytes");
    CHECK(cause_of(nccl) == OomCause::outside_allocator);
    CHECK(nccl.tried->si() == 6291456);
    CHECK(cause_of(read("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")) == OomCause::outside_allocator);
    // The allocator's own message explains the other.
    CHECK(read("NCCL WARN Cuda failure 'out of memory'\nCUDA out of memory. Tried to allocate 1.00 GiB.").source == OomSource::torch);
  }

  TEST_CASE("what is no message is refused, never guessed") {
    CHECK_THROWS_AS((void)read(""), InputError);
    CHECK_THROWS_AS((void)read("loss 3.21"), InputError);
    CHECK_THROWS_AS((void)read("CUDA out of memory. Tried to allocate"), InputError);
    CHECK_THROWS_AS((void)read("CUDA out of memory. Tried to allocate more than 1EB memory."), InputError);
    CHECK_THROWS_AS((void)read("CUDA out of memory. Tried to allocate ..GiB"), InputError);
  }

  TEST_CASE("fixes: each is verified, in order, and none is proposed where the layout fits") {
    TestJob t("llama3-8b", "h100", "torchtitan", 8, 8192, 32);
    const Layout l{.dp = 8, .zero = 3, .micro_batch = 4};
    const Bytes limit = 0.94 * t.hardware.accelerator.capacity.value;
    REQUIRE(broken_rule(t.job, l) == nullptr);
    REQUIRE(Evaluator<Plain>(t.job, Scope<Plain>()).evaluate(l, Timing::exact).memory.device > limit);
    const auto found = fixes({.job = t.job, .layout = l, .limit = limit, .keep = 12});
    REQUIRE(found.size() > 2);
    std::set<std::string> alone;
    for (const Fix& f : found)
      if (f.changes.size() == 1) alone.insert(f.changes[0]);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Fix& f = found[i];
      CAPTURE(f.changes[0]);
      CHECK(f.changes.size() <= 2);
      CHECK(broken_rule(f.job, f.layout) == nullptr);
      const auto again = Evaluator<Plain>(f.job, Scope<Plain>()).evaluate(f.layout, Timing::exact);
      CHECK(again.memory.device.si() == f.cost.memory.device.si());
      CHECK(again.time.si() == f.cost.time.si());
      CHECK(f.cost.memory.device <= limit);
      if (i > 0) {
        CHECK(found[i - 1].same_training >= f.same_training);
        if (found[i - 1].same_training == f.same_training) CHECK(found[i - 1].slowdown <= f.slowdown);
      }
      for (const std::string& c : f.changes)
        if (f.changes.size() == 2) CHECK_FALSE(alone.contains(c));
    }
    CHECK(fixes({.job = t.job, .layout = l, .limit = 1e15 * byte, .keep = 8}).empty());  // it fits
    CHECK(fixes({.job = t.job, .layout = l, .limit = 1 * byte, .keep = 8}).empty());     // nothing does
    CHECK(fixes({.job = t.job, .layout = l, .limit = limit, .keep = 1}).size() == 1);
  }

  TEST_CASE("fixes: a knob of a narrower state changes the training and says so") {
    TestJob t("llama3-8b", "h100", "reference", 1, 2048, 8);
    const Layout l{.micro_batch = 1};
    for (const Fix& f : fixes({.job = t.job, .layout = l, .limit = t.hardware.accelerator.capacity.value, .keep = 20}))
      for (const std::string& c : f.changes)
        if (c.find("8-bit") != c.npos) {
          CHECK_FALSE(f.same_training);
          CHECK(f.profile != nullptr);
          CHECK(f.job.profile == f.profile.get());
        }
  }
}
