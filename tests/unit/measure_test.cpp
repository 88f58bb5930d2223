// The measuring half without a GPU: what is planned, when sampling stops, what is written and taken up again.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "calibrate/measure/case.hpp"
#include "calibrate/measure/cuda/timer.hpp"
#include "calibrate/measure/progress.hpp"
#include "calibrate/measure/record.hpp"
#include "calibrate/measure/reference.hpp"
#include "calibrate/measure/statistics.hpp"
#include "calibrate/measure/world.hpp"
#include "model/input_error.hpp"

using namespace napkin;
using namespace napkin::measure;

namespace {

constexpr Machine one_gpu{1, 141e9, 60e6, 9, 0};
constexpr Machine two_gpus{2, 141e9, 60e6, 9, 0};

double planned_seconds(const std::vector<Case>& cases) {
  double s = 0;
  for (const auto& c : cases) s += c.seconds;
  return s;
}

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("napkin-measure-" + std::to_string(std::random_device{}()));
  Folder() { std::filesystem::create_directory(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

std::vector<std::string> lines(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

const Json header{{"kind", "device"}, {"name", "a GPU"}, {"world", 1}};
const Case a_case{"gemm", {{"kind", "gemm"}, {"m", 16}, {"n", 64}}, 0.1};
const Case other_case{"gemm", {{"kind", "gemm"}, {"m", 32}, {"n", 64}}, 0.1};

}  // namespace

TEST_SUITE_BEGIN("measure");

TEST_CASE("a summary is that of the sorted samples") {
  const auto s = summarise({4, 1, 3, 2, 5});
  CHECK(s.median == 3);
  CHECK(s.min == 1);
  CHECK(s.p90 == doctest::Approx(4.6));
  CHECK(s.iqr == 2);
  CHECK(s.n == 5);
  CHECK_THROWS_AS((void)summarise({}), std::invalid_argument);
}

TEST_CASE("the spread is the standard error of the median, and outliers do not move it") {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(100, 1);
  std::vector<double> samples(10000);
  for (auto& v : samples) v = noise(random);
  CHECK(summarise(samples).spread() == doctest::Approx(1.253 * 0.01 / 100).epsilon(0.05));
  for (std::size_t i = 0; i < 500; ++i) samples[i] = 1e6;
  CHECK(summarise(samples).spread() == doctest::Approx(1.253 * 0.01 / 100).epsilon(0.15));
}

TEST_CASE("sampling stops when the median is known, or when time or samples run out") {
  const StopRule rule{.spread = 0.01, .least = 10, .most = 50, .seconds = 1};
  CHECK_FALSE(rule.enough({}));
  CHECK_FALSE(rule.enough(std::vector<double>(9, 1e-3)));
  CHECK(rule.enough(std::vector<double>(10, 1e-3)));  // no spread at all
  std::vector<double> noisy;
  for (int i = 0; i < 20; ++i) noisy.push_back(i % 2 == 0 ? 1e-3 : 2e-3);
  CHECK_FALSE(rule.enough(noisy));
  CHECK(rule.enough(std::vector<double>(3, 0.4)));  // over a second
  CHECK_FALSE(rule.enough(std::vector<double>(2, 0.6)));
  noisy.resize(50, 1e-3);
  CHECK(rule.enough(noisy));
}

TEST_CASE("batches grow with what fits in the time, and never beyond what is allowed") {
  const StopRule rule{.spread = 0.01, .least = 10, .most = 50, .seconds = 1};
  CHECK(rule.next_batch({}) == 3);
  CHECK(rule.next_batch({1e-3, 1e-3, 1e-3}) == 10);
  CHECK(rule.next_batch({0.5, 0.5, 0.5}) == 1);
  CHECK(rule.next_batch({}, 1.0) == 1);   // one is longer than a burst
  CHECK(rule.next_batch({}, 4e-3) == 2);  // two are not
  CHECK(rule.next_batch(std::vector<double>(20, 4e-3)) == 2);
  CHECK(rule.next_batch(std::vector<double>(45, 1e-3)) == 5);
}

TEST_CASE("spans lie between markers") {
  const std::vector<Activity> seen{{0, 5, 9, false},                       // before the first marker
                                   {0, 10, 11, true},  {0, 20, 50, false},  {0, 40, 70, false},
                                   {0, 80, 81, true},  {0, 82, 83, true},   // nothing in between
                                   {0, 90, 100, false}};
  const auto s = spans(seen);
  REQUIRE(s.size() == 2);
  CHECK(s[0].seconds == doctest::Approx(50e-9));
  CHECK(s[0].busy == doctest::Approx(60e-9));
  CHECK(s[0].activities == 2);
  CHECK(s[1].seconds == doctest::Approx(10e-9));
}

TEST_CASE("a full run on one device is planned within eight minutes, a quick one within one") {
  const auto full = plan({}, one_gpu, false), quick = plan({}, one_gpu, true);
  CHECK(planned_seconds(full) < 480);
  CHECK(planned_seconds(quick) < 45);
  CHECK(quick.size() < full.size());
  std::set<std::string> groups_seen;
  for (const auto& c : full) groups_seen.insert(c.group);
  CHECK(groups_seen == std::set<std::string>{"launch", "memory", "elementwise", "gemm", "attention", "metrics"});
}

TEST_CASE("the plan has what it promises") {
  std::map<std::string, int> kinds, dtypes, layouts;
  std::int64_t largest = 0;
  std::set<int> decode_rows;
  for (const auto& c : plan({"memory", "gemm", "attention"}, one_gpu, false)) {
    if (c.shape.value("regime", "") == "sustained") CHECK(c.shape.at("settle_s").get<double>() > 1);
    if (c.shape.value("dtype", "") == "fp8_e4m3") CHECK(c.shape.at("fast_accumulation") == (c.shape.at("kind") != "gemm_accurate"));
    if (c.shape.at("kind") == "gemm" && c.shape.at("dtype") == "bf16" && c.shape.at("m").get<int>() <= 256) decode_rows.insert(c.shape.at("m").get<int>());
    ++kinds[c.shape.at("kind").get<std::string>()];
    if (c.shape.at("kind") == "gemm") ++dtypes[c.shape.at("dtype").get<std::string>()], ++layouts[c.shape.at("layout").get<std::string>()];
    if (c.shape.at("kind") == "copy") largest = std::max(largest, c.shape.at("bytes").get<std::int64_t>());
  }
  for (const char* kind : {"read", "write", "copy", "triad", "strided", "h2d", "d2h", "gemm", "bmm", "grouped_mm", "gemm_sustained", "gemm_accurate", "attn_fwd", "attn_bwd", "attn_decode"}) CHECK(kinds[kind] > 0);
  for (const int m : {1, 2, 4, 8, 16, 32, 64, 128, 256}) CHECK(decode_rows.contains(m));
  for (const char* dtype : {"bf16", "fp16", "tf32", "fp32", "fp8_e4m3"}) CHECK(dtypes[dtype] > 20);
  CHECK(dtypes["mxfp8"] == 0);
  for (const char* layout : {"tn", "nn", "nt"}) CHECK(layouts[layout] > 50);
  CHECK(largest == std::int64_t{8} << 30);
  int block_formats = 0;
  for (const auto& c : plan({"gemm"}, {1, 180e9, 126e6, 10, 0}, false)) block_formats += c.shape.at("dtype") == "mxfp8" || c.shape.at("dtype") == "nvfp4";
  CHECK(block_formats > 20);
}

TEST_CASE("no case is planned twice") {
  std::set<std::string> keys;
  const auto all = plan({}, {8, 141e9, 60e6, 9, 0}, false);
  for (const auto& c : all) keys.insert(c.key());
  CHECK(keys.size() == all.size());
}

TEST_CASE("collectives need two ranks, and more devices bring subsets and groups at once") {
  CHECK(plan({"collective", "peer"}, one_gpu, false).empty());
  const auto count = [](const Machine& m, const char* member, int value) {
    int n = 0;
    for (const auto& c : plan({"collective"}, m, false)) n += c.shape.at(member) == value;
    return n;
  };
  CHECK(count(two_gpus, "world", 2) > 200);
  CHECK(count(two_gpus, "groups", 2) == 0);
  const Machine eight{8, 141e9, 60e6, 9, 0};
  for (const int world : {2, 4, 8}) CHECK(count(eight, "world", world) > 100);
  CHECK(count(eight, "groups", 4) > 0);
  std::int64_t least = 1 << 30, most = 0;
  for (const auto& c : plan({"collective"}, two_gpus, false)) {
    least = std::min(least, c.shape.at("bytes").get<std::int64_t>());
    most = std::max(most, c.shape.at("bytes").get<std::int64_t>());
  }
  CHECK(least == 8);
  CHECK(most == std::int64_t{4} << 30);
}

TEST_CASE("a process that mpirun did not start is alone") {
  const World world;
  CHECK(world.alone());
  CHECK(world.hosts() == 1);
  CHECK(mpirun_rank() == 0);
}

TEST_CASE("ranks share what they know") {  // also run under mpirun, with this case alone
  const World world;
  CHECK(world.first() == (world.rank() == 0));
  CHECK(world.local_rank() < world.size());
  const auto all = world.texts(std::to_string(world.rank()));
  REQUIRE(all.size() == static_cast<std::size_t>(world.size()));
  for (int rank = 0; rank < world.size(); ++rank) CHECK(all[static_cast<std::size_t>(rank)] == std::to_string(rank));
  std::vector<double> values{1.0 + world.rank(), -1.0 * world.rank()};
  world.least(values);
  CHECK(values == std::vector<double>{1, -1.0 * (world.size() - 1)});
  int shared = 7 + world.rank();
  world.share(&shared, sizeof shared);
  CHECK(shared == 7);
  // Each number goes to one rank.
  constexpr std::size_t numbers = 100;
  std::string mine;
  for (std::size_t n = world.next(); n < numbers; n = world.next()) mine += std::to_string(n) + ' ';
  std::vector<int> dealt(numbers);
  for (const std::string& text : world.texts(mine)) {
    std::istringstream words(text);
    for (std::size_t n = 0; words >> n;) ++dealt.at(n);
  }
  CHECK(dealt == std::vector<int>(numbers, 1));
}

TEST_CASE("an unknown group is refused with those that are known") {
  CHECK_THROWS_WITH_AS((void)plan({"gem"}, one_gpu, true),
                       "--groups: \"gem\" is not a group; write some of launch, memory, elementwise, gemm, attention, metrics, collective, peer", InputError);
}

TEST_CASE("a record keeps every sample and what the readers of kernel lines expect") {
  const auto r = record(a_case, {{3e-6, 1e-6, 2e-6}, {{"moved", 10}}});
  CHECK(r.at("kind") == "gemm");
  CHECK(r.at("m") == 16);
  CHECK(r.at("t_s") == 2e-6);
  CHECK(r.at("t_min") == 1e-6);
  CHECK(r.at("n") == 64);  // the shape's, not the number of samples
  CHECK(r.at("iters") == 3);
  CHECK(r.at("moved") == 10);
  CHECK(r.at("samples_s") == Json::array({3e-6, 1e-6, 2e-6}));
  CHECK(recorded_key(r) == a_case.key());
  CHECK_THROWS_AS((void)record(a_case, {{1e-6}, {{"n", 1}}}), std::logic_error);
  CHECK(recorded_key(header).empty());
  CHECK(recorded_key(skipped(a_case, "why")).empty());
  CHECK(recorded_key(failed(a_case, "why")) == a_case.key());
}

TEST_CASE("a file is written line by line, refused when it exists, and taken up again after a cut") {
  const Folder folder;
  const auto path = (folder.path / "s.jsonl").string();
  {
    RecordFile f(path, header, false);
    f.append(record(a_case, {{1e-6}}));
    CHECK(f.has(a_case));
    CHECK(lines(path).size() == 2);  // while it is open
  }
  CHECK_THROWS_AS(RecordFile(path, header, false), InputError);
  std::ofstream(path, std::ios::app) << R"({"kind": "gemm", "cu)";
  {
    RecordFile f(path, header, true);
    CHECK(f.has(a_case));
    CHECK_FALSE(f.has(other_case));
    f.append(record(other_case, {{1e-6}}));
  }
  const auto all = lines(path);
  REQUIRE(all.size() == 3);
  for (const auto& line : all) CHECK_FALSE(Json::parse(line, nullptr, false).is_discarded());
  CHECK(RecordFile(path, header, true).done() == 2);
}

TEST_CASE("what the header says of all rows is not repeated in them; a file begun without it goes on without it") {
  const Folder folder;
  const auto path = (folder.path / "s.jsonl").string(), old = (folder.path / "old.jsonl").string();
  auto common = header;
  common["rows"] = {{"timer", "cupti"}, {"sm_mhz", 1980}, {"throttle", Json::array()}};
  RecordFile f(path, common, false);
  f.append(record(a_case, {{1e-6}, {{"timer", "cupti"}, {"sm_mhz", 1980.0}, {"throttle", {"power cap"}}}}));
  const auto row = Json::parse(lines(path).back());
  CHECK_FALSE(row.contains("timer"));
  CHECK_FALSE(row.contains("sm_mhz"));
  CHECK(row.at("throttle") == Json::array({"power cap"}));
  CHECK(f.has(a_case));
  { RecordFile first(old, header, false); }
  RecordFile(old, common, true).append(record(a_case, {{1e-6}, {{"timer", "cupti"}}}));
  CHECK(Json::parse(lines(old).back()).at("timer") == "cupti");
}

TEST_CASE("samples of another machine are not mixed") {
  const Folder folder;
  const auto path = (folder.path / "s.jsonl").string();
  { RecordFile f(path, header, false); }
  auto other = header;
  other["name"] = "another GPU";
  CHECK_THROWS_WITH_AS(RecordFile(path, other, true), (path + ":1: name is \"a GPU\", here it is \"another GPU\"; write another --out FILE").c_str(), InputError);
}

TEST_CASE("resuming a file that is not there, or empty, starts it") {
  const Folder folder;
  const auto path = (folder.path / "s.jsonl").string();
  { RecordFile f(path, header, true); }
  CHECK(lines(path).size() == 1);
  std::filesystem::resize_file(path, 0);
  { RecordFile f(path, header, true); }
  CHECK(lines(path).size() == 1);
}

TEST_CASE("a disk that takes nothing is an error of the user's") {
  if (std::filesystem::exists("/dev/full")) CHECK_THROWS_AS(RecordFile("/no/such/folder/s.jsonl", header, false), InputError);
}

TEST_CASE("the time left follows the plan first and the clock later") {
  CHECK(seconds_left(100, 0, 0) == 100);
  CHECK(seconds_left(100, 50, 100) == doctest::Approx(100));  // twice as slow as planned
  CHECK(seconds_left(100, 1, 10) < 400);                      // one slow start is not believed
  CHECK(seconds_left(100, 120, 90) == 0);
  CHECK(progress_line(30, 120, "gemm", 65) == "[#####---------------] 30/120 gemm 1:05 left");
}

TEST_CASE("the host's operators are those of the formulas") {
  using namespace napkin::measure::reference;
  const auto norm = elementwise("rms_norm", {3, 4}, {1, 2}, 1, 2);
  CHECK(norm[0] == doctest::Approx(3 / std::sqrt(12.5)).epsilon(1e-5));
  CHECK(norm[1] == doctest::Approx(8 / std::sqrt(12.5)).epsilon(1e-5));
  const auto soft = elementwise("softmax", {0, std::log(3.0)}, {}, 1, 2);
  CHECK(soft[0] == doctest::Approx(0.25));
  CHECK(elementwise("swiglu", {2, 5}, {}, 1, 1)[0] == doctest::Approx(2 / (1 + std::exp(-2)) * 5));
  CHECK(elementwise("add", {1, 2}, {3, 4}, 1, 2) == std::vector<double>{4, 6});
  std::vector<double> x(128), turn(128);
  x[0] = 1, x[64] = 2, x[1] = 7;
  for (std::size_t i = 0; i < 64; ++i) turn[i] = 1;  // no rotation but of the first pair, by a quarter
  turn[0] = 0, turn[64] = 1;
  const auto turned = elementwise("rope", x, turn, 1, 128);
  CHECK(turned[0] == -2);
  CHECK(turned[64] == 1);
  CHECK(turned[1] == 7);
  const auto a = adam({1, 0, 0}, 2, 0.1, 0.9, 0.99, 0, 0, 0.1, 0.01);
  CHECK(a.weight == doctest::Approx(0.9));  // the first step is the rate, whatever the gradient
  CHECK(a.first == doctest::Approx(0.2));
  CHECK(a.second == doctest::Approx(0.04));
  CHECK_THROWS_AS((void)elementwise("no", {1}, {}, 1, 1), std::invalid_argument);
  CHECK(from_bf16(to_bf16(1.00390625)) == 1.0);        // half a step up from one goes to even
  CHECK(from_bf16(to_bf16(1.01171875)) == 1.015625);
  CHECK(relative_error({1, 2}, {1, 2}) == 0);
  CHECK(std::isinf(relative_error({std::nan("")}, {1})));
}

TEST_SUITE_END();
