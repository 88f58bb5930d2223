#include "model/step/constants.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "hardware/constants.hpp"
#include "model/frameworks/constants.hpp"
#include "model/input_error.hpp"

namespace napkin {
namespace {

// Calls f(path, constant) for all of them.
template <class H, class P, class T, class F>
void each(H& hardware, T* library, P& profile, F f) {
  for_each_constant(hardware, [&](const std::string& path, auto& c) {
    if (!path.starts_with("/network/library/")) f(path, c);  // below, with the rest of the library
  });
  if (library != nullptr)
    for_each_constant(*library, [&](const std::string& path, auto& c) { f("/library" + path, c); });
  for_each_constant(profile, [&](std::string_view path, auto& c) { f("/framework" + std::string(path), c); });
}

// The tier's name for its number: "/network/tiers/0/latency" → "/network/nvlink/latency".
std::string label_of(const std::string& path, const Network& network) {
  constexpr std::string_view tiers = "/network/tiers/";
  if (!path.starts_with(tiers)) return path;
  const auto end = path.find('/', tiers.size());
  const auto index = std::stoul(path.substr(tiers.size(), end - tiers.size()));
  return "/network/" + network.tiers[index].name + path.substr(end);
}

template <Dim D>
Dim dim_of(const Constant<Quantity<D, Plain>>&) {
  return D;
}

// Four digits.
std::string number(double v) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), v, std::chars_format::general, 4).ptr;
  return {text.data(), end};
}

std::vector<std::string> words_of(std::string_view pattern) {
  std::vector<std::string> words(1);
  for (const char c : pattern) {
    if (c != '.' && c != '/')
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// Whether `words` stand in `keys` in their order, the first at the front and the last `below` keys from the end.
bool stands_in(const std::vector<std::string>& words, const std::vector<std::string>& keys, std::size_t below) {
  if (words.empty() || keys.size() <= below || keys.front() != words.front() ||
      keys[keys.size() - 1 - below] != words.back())
    return false;
  std::size_t at = 0;
  for (std::size_t i = 0; i + below < keys.size() && at < words.size(); ++i)
    if (keys[i] == words[at]) ++at;
  return at == words.size();
}

}  // namespace

std::vector<ConstantInfo> constants_of(const Job& job) {
  std::vector<ConstantInfo> all;
  each(*job.hardware, job.hardware->network.tuning.get(), *job.profile,
       [&]<Dim D>(const std::string& path, const Constant<Quantity<D, Plain>>& c) {
         all.push_back({.path = path,
                        .label = label_of(path, job.hardware->network),
                        .dim = D,
                        .si = c.value.si(),
                        .source = c.source,
                        .place = c.place});
       });
  return all;
}

std::vector<ConstantInfo> constants_named(const Job& job, std::string_view pattern) {
  const std::vector<std::string> words = words_of(pattern);
  const std::vector<ConstantInfo> all = constants_of(job);
  for (const std::size_t below : {0U, 1U}) {
    std::vector<ConstantInfo> found;
    for (const ConstantInfo& c : all)
      if (stands_in(words, path_keys(c.path), below) || stands_in(words, path_keys(c.label), below)) found.push_back(c);
    const bool one_kind =
        std::all_of(found.begin(), found.end(), [&](const ConstantInfo& c) { return c.dim == found.front().dim; });
    if (!found.empty() && one_kind) return found;
  }
  return {};
}

Bounds bounds_of(std::string_view path, Dim dim) {
  constexpr double none = std::numeric_limits<double>::infinity();
  constexpr std::array<std::string_view, 10> shares{
      "/efficiency", "/memory_fraction", "/net_share", "/compute/gemm_share", "/moe/gemm_share", "/usable_window", "/contention",
      "/memory/pinned", "/nvls/share", "/one_shot/share"};
  const auto within = [&](std::string_view group) { return path.starts_with(group); };
  const bool rate = within("/kernels/gemm/sustained/") || within("/kernels/gemm/burst/") ||
                    within("/kernels/elementwise/by_traffic/") ||
                    (within("/kernels/attention/") && (path.find("/forward/") != path.npos || path.find("/backward/") != path.npos));
  if (dim != Dim{}) return {0, none};
  if (path.ends_with("/oversubscription")) return {1, none};
  const bool share = rate || within("/framework/overlap/") ||
                     std::any_of(shares.begin(), shares.end(), [&](std::string_view end) { return path.ends_with(end); });
  return {0, share ? 1 : none};
}

ScaledJob::ScaledJob(const Job& job, std::span<const Scaling> by) : job_(job) {
  auto hardware = std::make_shared<Hardware>(*job.hardware);
  auto profile = std::make_shared<Profile>(*job.profile);
  std::shared_ptr<CollectiveTuning> library;
  if (hardware->network.tuning)
    hardware->network.tuning = library = std::make_shared<CollectiveTuning>(*hardware->network.tuning);
  each(*hardware, library.get(), *profile, [&](const std::string& path, auto& c) {
    for (const Scaling& s : by) {
      if (s.path != path) continue;
      const double before = c.value.si(), after = s.factor * before;
      const Bounds bounds = bounds_of(path, dim_of(c));
      // One that stood outside before may come nearer.
      const bool above = after > bounds.most && after > before, below = after < bounds.least && after < before;
      if (above || below) {
        std::string name = label_of(path, job.hardware->network).substr(1);
        std::replace(name.begin(), name.end(), '/', '.');
        const double bound = above ? bounds.most : bounds.least;
        throw InputError(name + ": " + number(s.factor) + " times " + number(before) + " is " + number(after) + ", " +
                         (above ? "above " : "below ") + number(bound) + ", the " + (above ? "most" : "least") +
                         " it can be; write a factor of " +
                         number((above ? std::floor(1000 * bound / before) : std::ceil(1000 * bound / before)) / 1000) +
                         (above ? " or less" : " or more"));
      }
      c.value = s.factor * c.value;
    }
  });
  hardware_ = std::move(hardware);
  profile_ = std::move(profile);
  job_.hardware = hardware_.get();
  job_.profile = profile_.get();
}

}  // namespace napkin
