#include <doctest/doctest.h>

#include "model/collective/fat_tree.hpp"
#include "model/collective/sharding.hpp"
#include "model/collective/sharding_cost.hpp"
#include "model/collective/weights.hpp"
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

  TEST_CASE("other ways to contract: gather both operands, or slice the whole one and add partial sums") {
    const Mesh m{.sizes = {{"B", 1024}, {"D", 8192}, {"F", 4096}}, .axes = {{'X', 4}}};
    const ProductQuestion q{parse_sharded("A[B,D]"), parse_sharded("Y[D_X,F]"), parse_sharded("C[B,F]"), m, 2};
    const MeshLinks ring{MeshLinks::Kind::ring, 50 * GB / second};
    const auto peak = 255e12 * flop / second;
    const auto all = alternatives(q, ring, peak);
    REQUIRE(all.size() == 2);  // gathering both is gathering the one that is split
    const auto way = [&](Contraction how) {
      for (const auto& a : all)
        if (a.how == how) return a;
      return all[0];
    };
    CHECK(way(Contraction::least).product.steps[0].operation == Operation::all_gather);
    CHECK(way(Contraction::partial).product.steps[0].operation == Operation::all_reduce);
    CHECK(way(Contraction::least).product.flops_per_device == 4 * way(Contraction::partial).product.flops_per_device);
    // austin2025scaling: with C/W = 2550, partial sums win above D = 2 C/W.
    const auto wins = overtakes(q, Contraction::partial, Contraction::least, ring, peak);
    REQUIRE(wins.size() == 1);
    CHECK(wins[0].name == "D");
    CHECK(wins[0].size == doctest::Approx(5100));
  }

  TEST_CASE("all layouts of the axes, the fastest first; sizes at which arithmetic and links balance") {
    const ProductQuestion q{parse_sharded("A[I,J]"), parse_sharded("B[J,K]"), parse_sharded("C[I,K]"),
                            {.sizes = {{"I", 8192}, {"J", 8192}, {"K", 8192}}, .axes = {{'X', 4}, {'Y', 4}, {'Z', 4}}}, 2};
    const MeshLinks ring{MeshLinks::Kind::ring, 45 * GB / second};
    const auto peak = 275e12 * flop / second;
    const auto all = arrangements(q, ring, peak);
    CHECK(all.size() == 64);
    CHECK(all[0].time.communication.si() == doctest::Approx(497.1e-6).epsilon(1e-3));  // gather the result over 3 axes
    for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i - 1].time.overlapped() <= all[i].time.overlapped());
    // At the limit, arithmetic takes as long as communication: on a switch, and on closed rings.
    for (const auto kind : {MeshLinks::Kind::switched, MeshLinks::Kind::ring}) {
      ProductQuestion tp{parse_sharded("A[B,D_X]"), parse_sharded("W[D_X,F]"), parse_sharded("C[B,F]"),
                         {.sizes = {{"B", 1024}, {"D", 65536}, {"F", 4096}}, .axes = {{'X', 4}}}, 2};
      const MeshLinks links{kind, 100 * GB / second};
      const auto p = sharded_product(tp.a, tp.b, tp.c, tp.mesh, 2);
      double limit = 0;
      for (const auto& b : balances(tp, p, links, peak))
        if (!b.above) limit = b.size;
      REQUIRE(limit > 4);
      for (const bool more : {false, true}) {
        tp.mesh.axes['X'] = 2 * static_cast<int>(limit / 2 + (more ? 1.5 : -0.5));
        const auto t = product_time(sharded_product(tp.a, tp.b, tp.c, tp.mesh, 2), tp.mesh, links, peak);
        CHECK((t.communication > t.product) == more);
      }
    }
  }

  TEST_CASE("what holds an array, and when loading it is the longer part") {
    const auto h = holding(671 * GB, 671 * GB, 80 * GB, 0.3);
    CHECK(h.devices == 12);
    CHECK(h.power_of_two == 16);
    CHECK(h.left < Bytes());
    CHECK_THROWS_AS((void)holding(1 * GB, 1 * GB, Bytes(), 0), InputError);
    const ProductQuestion q{parse_sharded("A[B,D]"), parse_sharded("W[D,F]"), parse_sharded("C[B,F]"),
                            {.sizes = {{"B", 1}, {"D", 4096}, {"F", 4096}}, .axes = {}}, 1};
    const auto b = weight_balances(q, 240e12 * flop / second, 1e12 * byte / second, 256, 8);
    REQUIRE(b.size() == 1);
    CHECK(b[0].size == doctest::Approx(120.0 * 256 / 8));
  }

  TEST_CASE("notation that is wrong is refused") {
    for (const char* bad : {"", "A", "A[I", "A[]", "A[I_]", "A[I_X,J_X]"})
      CHECK_THROWS_AS((void)parse_sharded(bad), InputError);
    CHECK_THROWS_AS((void)product("A[I_Z,J]", "B[J,K]", "C[I,K]", mesh), InputError);
    CHECK_THROWS_AS((void)product("A[I,J]", "B[J,K]", "C[I,L]", mesh), InputError);
  }

  TEST_CASE("fat tree of 64-port switches for 1,024 endpoints") {
    const auto t = fat_tree<Plain>(64, 1024, 256);
    CHECK(t.largest.si() == 2048);
    CHECK(t.leaves.si() == 32);
    CHECK(t.spines.si() == 16);
    CHECK(t.cables.si() == 1024);
    CHECK(t.units.si() == 4);
    CHECK(t.tiers == 2);
    const auto three = fat_tree<Plain>(64, 4096, 0);  // DGX SuperPOD: 128 leaves, 128 spines, 64 cores
    CHECK(three.tiers == 3);
    CHECK(three.leaves.si() == 128);
    CHECK(three.spines.si() == 128);
    CHECK(three.cores.si() == 64);
    CHECK_THROWS_AS((void)fat_tree<Plain>(4, 17, 0), InputError);
    CHECK(shard_bytes(parse_sharded("A[I_X,J]"), {.sizes = {{"I", 8}, {"J", 1}}, .axes = {{'X', 3}}}, 1) == 3 * byte);
    CHECK_THROWS_AS((void)parse_sharded("A[I,I]"), InputError);
    CHECK(through_switches<Plain>(64, 64, 50 * GB / second, 4096) == 50 * GB / second);
    CHECK_THROWS_AS((void)fat_tree<Plain>(63, 10, 0), InputError);
    CHECK_THROWS_AS((void)fat_tree<Plain>(64, 0, 0), InputError);
  }

  TEST_CASE("the widest tree: whole ports, and what oversubscription leaves") {
    const auto full = widest_tree<Plain>(64, 2, 1, 50 * GB / second);
    CHECK(full.endpoints.si() == fat_tree<Plain>(64, 1, 0).largest.si());
    CHECK(full.per_endpoint == 50 * GB / second);
    const auto three = widest_tree<Plain>(64, 3, 1, 50 * GB / second);
    CHECK(three.endpoints.si() == 64.0 * 64 * 64 / 4);
    const auto thin = widest_tree<Plain>(64, 2, 3, 50 * GB / second);  // 48 down, 16 up
    CHECK(thin.down.si() == 48);
    CHECK(thin.endpoints.si() == 3072);
    CHECK(thin.per_endpoint.si() == doctest::Approx(50e9 / 3));
    CHECK(thin.bisection.si() == doctest::Approx(1536 * 50e9 / 3));
    CHECK(widest_tree<Plain>(64, 2, 2, 50 * GB / second).oversubscription.si() == doctest::Approx(42.0 / 22));
    CHECK_THROWS_AS((void)widest_tree<Plain>(64, 4, 1, 50 * GB / second), InputError);
    CHECK_THROWS_AS((void)widest_tree<Plain>(64, 2, 0.5, 50 * GB / second), InputError);
  }

  TEST_CASE("a node carries the lesser of its switches and its links") {
    const auto f = node_fabric<Plain>(4, 64, 25 * GB / second, 8, 450 * GB / second);
    CHECK(f.switch_side == 6.4 * TB / second);
    CHECK(f.usable == 3.6 * TB / second);
    CHECK(f.bisection == 3.6 * TB / second);
  }
}
