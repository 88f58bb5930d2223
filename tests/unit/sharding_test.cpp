#include <doctest/doctest.h>

#include "model/collective/fat_tree.hpp"
#include "model/collective/sharding.hpp"
#include "model/input_error.hpp"

using namespace napkin;

namespace {
ShardedProduct product(const char* a, const char* b, const char* c, const Mesh& m) {
  return sharded_product(parse_sharded(a), parse_sharded(b), parse_sharded(c), m, 2);
}
}  // namespace

TEST_SUITE("sharding") {
  const Mesh mesh{.sizes = {{"I", 8192}, {"J", 8192}, {"K", 8192}}, .axes = {{'X', 4}, {'Y', 4}}};
  constexpr double whole = 2.0 * 8192 * 8192;

  TEST_CASE("shards and replicas (austin2025scaling, pop quizzes)") {
    const Mesh m{.sizes = {{"I", 128}, {"J", 2048}}, .axes = {{'X', 2}, {'Y', 8}, {'Z', 2}}};
    const auto a = parse_sharded("A[I_XY,J]");
    CHECK(shard_bytes(a, m, 1) == 16384 * byte);
    CHECK(total_bytes(a, m, 1) == 512 * KiB);
  }

  TEST_CASE("which collective makes the shards meet") {
    const auto partial = product("A[I_X,J_Y]", "B[J_Y,K]", "C[I_X,K]", mesh);
    REQUIRE(partial.steps.size() == 1);
    CHECK(partial.steps[0].operation == Operation::all_reduce);
    CHECK(partial.steps[0].axes == "Y");
    CHECK(partial.steps[0].bytes.si() == whole / 4);
    CHECK(partial.over_theory == 1);

    const auto scattered = product("A[I,J_X]", "B[J_X,K]", "C[I_X,K]", mesh);
    REQUIRE(scattered.steps.size() == 1);
    CHECK(scattered.steps[0].operation == Operation::reduce_scatter);
    CHECK(scattered.over_theory == 4);  // replicated over Y

    const auto gathered = product("A[I_X,J]", "B[J_X,K_Y]", "C[I_X,K_Y]", mesh);
    REQUIRE(gathered.steps.size() == 1);
    CHECK(gathered.steps[0].operation == Operation::all_gather);
    CHECK(gathered.steps[0].array == "B[J,K_Y]");
    CHECK(gathered.steps[0].bytes.si() == whole / 4);

    CHECK(product("A[I_X,J]", "B[J,K_Y]", "C[I_X,K_Y]", mesh).steps.empty());
    CHECK(product("A[I_X,J_Y]", "B[J_X,K_Y]", "C[I_X,K_Y]", mesh).steps.size() == 2);  // row and column panels
    const auto after = product("A[I_X,J]", "B[J,K]", "C[I,K]", mesh);
    REQUIRE(after.steps.size() == 1);
    CHECK_FALSE(after.steps[0].before);
  }

  TEST_CASE("one axis cannot split the product twice") {
    const auto p = product("A[I_X,J]", "B[J,K_X]", "C[I_X,K]", mesh);
    REQUIRE(p.steps.size() == 1);
    CHECK(p.steps[0].array == "B[J,K]");
    CHECK(p.flops_per_device.si() == 2.0 * 8192 * 8192 * 8192 / 4);
  }

  TEST_CASE("notation that is wrong is refused") {
    for (const char* bad : {"", "A", "A[I", "A[]", "A[I_]", "A[I_X,J_X]"})
      CHECK_THROWS_AS((void)parse_sharded(bad), InputError);
    CHECK_THROWS_AS((void)product("A[I_Z,J]", "B[J,K]", "C[I,K]", mesh), InputError);
    CHECK_THROWS_AS((void)product("A[I,J]", "B[J,K]", "C[I,L]", mesh), InputError);
  }

  TEST_CASE("fat tree of 64-port switches for 1,024 endpoints") {
    const FatTree t = fat_tree(64, 1024, 256);
    CHECK(t.largest == 2048);
    CHECK(t.leaves == 32);
    CHECK(t.spines == 16);
    CHECK(t.cables == 1024);
    CHECK(t.units == 4);
    CHECK(t.fits);
    CHECK_FALSE(fat_tree(64, 4096, 0).fits);
    CHECK(through_switches(64, 64, 50 * GB / second, 4096) == 50 * GB / second);
    CHECK_THROWS_AS((void)fat_tree(63, 10, 0), InputError);
    CHECK_THROWS_AS((void)fat_tree(64, 0, 0), InputError);
  }

  TEST_CASE("a node carries the lesser of its switches and its links") {
    const NodeFabric f = node_fabric(4, 64, 25 * GB / second, 8, 450 * GB / second);
    CHECK(f.switch_side == 6.4 * TB / second);
    CHECK(f.usable == 3.6 * TB / second);
    CHECK(f.bisection == 3.6 * TB / second);
  }
}
