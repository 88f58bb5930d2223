// napkin select: mode, median, top-k and heavy hitters of values spread over workers.
#include "cli/calculator.hpp"
#include "model/collective/order_statistics.hpp"

namespace napkin::cli {
namespace {

void way(Answer& a, const char* key, const char* words, const Way<T>& w) {
  const std::string k(key), s(words);
  a.add(k + "_rounds", s + ": rounds", w.rounds);
  a.add(k + "_bytes", s + ": bytes", w.bytes);
  a.add(k + "_s", s + ": time", w.time);
}

void compute(const Given& g, Answer& a) {
  const std::string task = g.word("--of");
  const Workers<T> w{g.number("--workers", "w"), g.number("--values", "n/w"), g.number("--bits", "bits"), g.bytes("--value-bytes", "b"),
                     g.bytes("--counter-bytes", "b_c"), g.seconds("--alpha", "alpha"), g.bandwidth("--bandwidth", "B")};
  if (task != "median" && task != "mode" && task != "top-k" && task != "heavy-hitters")
    throw InputError("--of: \"" + task + "\"; write median, mode, top-k or heavy-hitters");
  way(a, "gather", "gather all (exact)", gather_all(w));
  if (task == "median") {
    way(a, "bisection", "bisect the range of values (exact)", bisect(w));
    const auto h = radix_histogram(w, g.number("--passes", "passes"));
    way(a, "histogram", "radix histograms (exact)", h);
    a.add("histogram_pass_s", "radix histograms: one pass", let("T_pass", h.time / h.rounds));
    const auto round = g.typed("--per-round") ? g.seconds("--per-round", "T_round") : let("T_round", 2 * ceil(log2(w.count)) * w.alpha);
    way(a, "quickselect", "quickselect, random pivots (exact, expected)", quickselect(w, round));
    a.add("quickselect_comparisons_per_value", "quickselect: comparisons a value", quickselect_comparisons<T>());
    a.follow_up = "and if the values do not fit in memory?";
  } else if (task == "mode") {
    const auto distinct = g.typed("--distinct") ? g.number("--distinct", "distinct") : w.values;
    way(a, "shuffle", "hash shuffle of local counts (exact)", hash_shuffle(w, distinct));
    if (g.typed("--spread-count")) {
      const auto spread = let("count", w.count * g.number("--spread-count", "copies"));
      const auto local = g.number("--local-count", "local");
      a.add("spread_total", "global count of the value that every worker has", spread);
      a.add("local_best", "... of the best local mode, on one worker alone", local);
      a.label("mode", "the mode is", spread.si() > local.si() ? "the spread one: local modes miss it" : "the local one");
      a.add("local_threshold", "local count that no global mode of this count can stay below everywhere", let("threshold", ceil(spread / w.count)));
    }
    a.follow_up = "why are local modes not enough? (a value second everywhere may win: --spread-count, --local-count)";
  } else if (task == "top-k") {
    way(a, "merge", "merge the k of each worker (exact)", merge_top(w, g.number("--k", "k")));
    a.follow_up = "why is top-k exact from local lists when the mode is not?";
  } else {
    const auto counters = misra_gries_counters(g.number("--error", "eps"));
    a.add("counters", "Misra-Gries: counters of a worker", counters);
    way(a, "merge", "merge the counters (approximate)", merge_counters(w, counters));
    a.follow_up = "how is it made exact? (a second pass counts the candidates)";
  }
  a.conventions.push_back("alpha a message, one direction; bytes over all workers (a histogram: its size); a round = down and up a binomial tree");
  a.neglected.push_back("local work: sorting, counting, hashing");
}

}  // namespace

void add_select(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "select",
                  .description = "Mode, median, top-k, heavy hitters over workers: rounds, bytes, time, exact or not",
                  .parameters = OptionList{
                      {"--of", Reads::word, "median, mode, top-k or heavy-hitters", "median"},
                      {"--workers", Reads::count, "Workers", "10"},
                      {"--values", Reads::count, "Values on each", "100M"},
                      {"--bits", Reads::count, "Bits of a value: rounds of bisection", "32"},
                      {"--value-bytes", Reads::bytes, "Bytes of a value", "4"},
                      {"--counter-bytes", Reads::bytes, "Bytes of a counter", "8"},
                      {"--alpha", Reads::seconds, "Latency of a message", "100 us"},
                      {"--bandwidth", Reads::bandwidth, "Bandwidth of a worker", "1.25 GB/s"},
                      {"--passes", Reads::count, "Histograms: passes", "2"},
                      {"--per-round", Reads::seconds, "Quickselect: time of a round"},
                      {"--distinct", Reads::count, "Mode: distinct values on a worker"},
                      {"--spread-count", Reads::count, "Mode: copies on every worker of a value they share"},
                      {"--local-count", Reads::count, "Mode: copies of each worker's own best value"},
                      {"--k", Reads::count, "Top-k: how many", "100"},
                      {"--error", Reads::share, "Heavy hitters: error, of all values", "0.1%"}},
                  .compute = compute,
                  .examples = "  napkin select --of median --workers 10 --values 100M\n"
                              "  napkin select --of heavy-hitters --error 0.1%"});
}

}  // namespace napkin::cli
