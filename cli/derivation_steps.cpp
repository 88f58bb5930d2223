#include "cli/derivation_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "model/text.hpp"

namespace napkin::cli {
namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);
constexpr std::size_t repeatable_operations = 2;  // a shared "p - 1" is repeated; anything longer becomes a step
constexpr int deepest_nesting = 24;               // of one formula; also bounds the recursion below
constexpr std::size_t longest_arm = 40;           // a longer arm of a max is shown by its value
constexpr std::size_t merged_terms = 3;           // a term added this often is written once, multiplied

// A node after equal sub-derivations have been merged. `a` and `b` are vertices, or none for a literal.
struct Vertex {
  const Node* node;
  std::size_t a = none, b = none;
  std::size_t references = 0;
  std::size_t operations = 0;  // operators in the formula, down to the next steps
  int nesting = 0;
  bool step = false;
};

bool is_symbol(const Node& n) { return n.op == Op::input || n.op == Op::name; }
bool is_sum(Op op) { return op == Op::add || op == Op::subtract; }
bool is_product(Op op) { return op == Op::multiply || op == Op::divide; }
bool is_extreme(Op op) { return op == Op::maximum || op == Op::minimum || op == Op::smooth_maximum; }
bool is_binary(Op op) { return is_sum(op) || is_product(op) || is_extreme(op) || op == Op::power; }

std::string_view function_name(Op op) {
  switch (op) {
    case Op::maximum: return "max";
    case Op::minimum: return "min";
    case Op::smooth_maximum: return "smooth_max";
    case Op::ceiling: return "ceil";
    case Op::floor: return "floor";
    case Op::log2: return "log2";
    case Op::exponential: return "exp";
    case Op::logarithm: return "ln";
    case Op::square_root: return "sqrt";
    case Op::power: return "pow";
    default: return "";
  }
}

// Whether the argument of `parent` is written without parentheses as part of the parent's own chain.
bool continues(Op parent, Op child, bool right) {
  if (is_sum(parent)) return is_sum(child) && !(right && parent == Op::subtract);
  if (is_product(parent)) return is_product(child) && !(right && parent == Op::divide);
  return is_extreme(parent) && parent != Op::smooth_maximum && child == parent;
}

std::string value_text(Dim dim, double value) {
  if (dim != Dim{}) return format(dim, value);
  return value == std::floor(value) && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                                              : fmt::format("{:.6g}", value);
}

// ---- the graph: equal sub-derivations once, and which of them are steps --------------------------------------------
class Graph {
 public:
  std::vector<Vertex> vertices;  // arguments before what uses them
  std::vector<std::size_t> roots;

  explicit Graph(std::span<const Node* const> answers) {
    for (const Node* root : answers)
      if (root != nullptr) roots.push_back(insert(root));
    for (const Vertex& v : vertices) {
      if (v.a != none) ++vertices[v.a].references;
      if (v.b != none) ++vertices[v.b].references;
    }
    for (const std::size_t root : roots) vertices[root].step = true;
    for (Vertex& v : vertices) find_steps(v);
  }

  // The vertex that a choice stands for, as far as the formula is concerned.
  [[nodiscard]] std::size_t behind_choices(std::size_t i) const {
    while (!vertices[i].step && vertices[i].node->op == Op::choice) i = vertices[i].a;
    return i;
  }

  // The steps in the formula of step `i`, in order of appearance.
  [[nodiscard]] std::vector<std::size_t> uses(std::size_t i) {
    ++visit_;
    seen_.resize(vertices.size(), 0);
    std::vector<std::size_t> found, stack;
    const auto push = [&](const Vertex& v) {
      if (v.b != none) stack.push_back(v.b);
      if (v.a != none) stack.push_back(v.a);
    };
    push(vertices[i]);
    while (!stack.empty()) {
      const std::size_t at = stack.back();
      stack.pop_back();
      if (std::exchange(seen_[at], visit_) == visit_) continue;
      if (vertices[at].step) {
        found.push_back(at);
      } else {
        push(vertices[at]);
      }
    }
    return found;
  }

 private:
  using Argument = std::tuple<std::size_t, std::uint64_t, std::uint32_t>;
  using Key = std::tuple<Op, std::uint32_t, std::uint64_t, Argument, Argument, std::string_view, std::string_view>;
  std::unordered_map<const Node*, std::size_t> index_;
  std::map<Key, std::size_t> known_;
  std::vector<std::size_t> seen_;
  std::size_t visit_ = 0;

  static Argument argument(std::size_t vertex, const Operand& o) {
    if (vertex != none) return {vertex, 0, 0};
    return {none, std::bit_cast<std::uint64_t>(o.value), std::bit_cast<std::uint32_t>(o.dim)};
  }

  std::size_t insert(const Node* root) {
    std::vector<const Node*> stack{root};
    while (!stack.empty()) {
      const Node* n = stack.back();
      if (index_.contains(n)) {
        stack.pop_back();
        continue;
      }
      const std::size_t before = stack.size();
      for (const Node* argument : {n->a.node, n->b.node})
        if (argument != nullptr && !index_.contains(argument)) stack.push_back(argument);
      if (stack.size() != before) continue;
      stack.pop_back();
      const std::size_t a = n->a.node != nullptr ? index_.at(n->a.node) : none;
      const std::size_t b = n->b.node != nullptr ? index_.at(n->b.node) : none;
      const Key key{n->op,
                    std::bit_cast<std::uint32_t>(n->dim),
                    std::bit_cast<std::uint64_t>(n->value),
                    argument(a, n->a),
                    argument(b, n->b),
                    n->name,
                    n->source};
      const auto [at, is_new] = known_.try_emplace(key, vertices.size());
      if (is_new) vertices.push_back({.node = n, .a = a, .b = b});
      index_.emplace(n, at->second);
    }
    return index_.at(root);
  }

  void find_steps(Vertex& v) const {
    const Op op = v.node->op;
    v.operations = op == Op::choice ? 0 : 1;
    for (const bool right : {false, true}) {
      const std::size_t i = right ? v.b : v.a;
      if (i == none || vertices[i].step) continue;
      const Vertex& argument = vertices[i];
      v.operations += argument.operations;
      v.nesting = std::max(v.nesting, argument.nesting + (continues(op, argument.node->op, right) ? 0 : 1));
    }
    v.step = v.step || is_symbol(*v.node) || v.nesting >= deepest_nesting ||
             (v.references > 1 && v.operations > repeatable_operations);
  }
};

// ---- one formula, in symbols and in numbers -------------------------------------------------------------------------
class Writer {
 public:
  Writer(const Graph& graph, const std::vector<std::string>& names) : graph_(graph), names_(names) {}

  // Fills formula, numbers and notes from the expression behind step `i`.
  void write(std::size_t i, Step& step) {
    symbols_.clear();
    numbers_.clear();
    notes_.clear();
    const Vertex& v = graph_.vertices[i];
    if (v.node->op == Op::name || v.node->op == Op::choice) {
      if (v.node->op == Op::choice) note_choice(*v.node);
      term({v.a, &v.node->a}, 0, true);
    } else {
      expression(v, true);
    }
    step.formula = std::move(symbols_);
    step.numbers = std::move(numbers_);
    step.notes = std::move(notes_);
  }

 private:
  struct Term {
    std::size_t vertex;
    const Operand* operand;
    bool inverse = false;  // subtracted, or divided by
    std::size_t count = 1;
  };
  // How tightly an operator binds; a looser one inside a tighter one is put in parentheses.
  enum Binding { sum = 1, product = 2, atom = 3 };

  const Graph& graph_;
  const std::vector<std::string>& names_;
  std::string symbols_, numbers_;
  std::vector<std::string> notes_;

  void put(std::string_view text) {
    symbols_ += text;
    numbers_ += text;
  }
  void note(std::string text) {
    if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(std::move(text));
  }
  void note_choice(const Node& choice) {
    note(choice.source.empty() ? choice.name : fmt::format("{} [{}]", choice.name, choice.source));
  }

  Binding binding(const Term& t) const {
    if (t.count > 1) return product;
    if (t.vertex == none) return atom;
    const Vertex& v = graph_.vertices[graph_.behind_choices(t.vertex)];
    if (v.step) return atom;
    return is_sum(v.node->op) ? sum : is_product(v.node->op) ? product : atom;
  }

  static void append(std::string& out, std::string_view text, bool inside) {
    const bool guarded = inside && text.starts_with('-');  // a * (-2)
    if (guarded) out += '(';
    out += text;
    if (guarded) out += ')';
  }
  void leaf(std::string_view symbol, std::string_view number, bool inside) {
    append(symbols_, symbol, inside);
    append(numbers_, number, inside);
  }

  // `least` is the loosest operator that needs no parentheses here.
  void term(const Term& t, int least, bool outermost = false) {
    if (t.vertex == none) {
      const std::string text = value_text(t.operand->dim, t.operand->value);
      return leaf(text, text, !outermost);
    }
    const Vertex& v = graph_.vertices[t.vertex];
    if (v.step) return leaf(names_[t.vertex], value_text(v.node->dim, v.node->value), !outermost);
    if (v.node->op == Op::choice) {
      note_choice(*v.node);
      return term({v.a, &v.node->a}, least, outermost);
    }
    const bool parentheses = binding(t) < least;
    if (parentheses) put("(");
    expression(v, outermost && !parentheses);
    if (parentheses) put(")");
  }

  void expression(const Vertex& v, bool outermost) {
    const Op op = v.node->op;
    if (is_sum(op)) {
      chain(merged(terms(v)), sum, outermost ? wide_break : narrow_break, "+ ", "- ");
    } else if (is_product(op)) {
      chain(terms(v), product, narrow_break, "* ", "/ ");
    } else {
      function(v);
    }
  }

  void chain(const std::vector<Term>& list, Binding level, char separator, std::string_view plus,
             std::string_view minus) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Term& t = list[i];
      if (i > 0) {
        put({&separator, 1});
        put(t.inverse ? minus : plus);
      }
      if (t.count > 1) put(fmt::format("{} * ", t.count));
      term(t, t.count > 1 ? product : t.inverse ? level + 1 : static_cast<int>(level));
    }
  }

  void function(const Vertex& v) {
    const Op op = v.node->op;
    const std::vector<Term> list = terms(v);
    put(function_name(op));
    put("(");
    std::string binding_arms;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) put(std::string(",") + narrow_break);
      const std::size_t start = symbols_.size();
      term(list[i], 0);
      if (is_extreme(op) && list[i].operand->value == bound(op, list)) {
        std::string arm = without_breaks(symbols_.substr(start));
        if (arm.size() > longest_arm) arm = fmt::format("its arm {}", i + 1);
        binding_arms += (binding_arms.empty() ? "" : " and ") + arm;
      }
    }
    put(")");
    if (is_extreme(op))
      note(fmt::format("{} = {}: {}", function_name(op), value_text(v.node->dim, v.node->value), binding_arms));
  }

  static double bound(Op op, const std::vector<Term>& arms) {
    double best = arms.front().operand->value;
    for (const Term& t : arms)
      best = op == Op::minimum ? std::min(best, t.operand->value) : std::max(best, t.operand->value);
    return best;
  }

  // The arguments of a chain of one operator, left to right; ours to walk, because a chain may be very long.
  std::vector<Term> terms(const Vertex& v) const {
    std::vector<Term> list, stack;
    const auto push = [&stack](const Vertex& w) {
      const Op op = w.node->op;
      if (is_binary(op)) stack.push_back({w.b, &w.node->b, op == Op::subtract || op == Op::divide});
      stack.push_back({w.a, &w.node->a});
    };
    push(v);
    while (!stack.empty()) {
      const Term t = stack.back();
      stack.pop_back();
      const Vertex* w = t.vertex == none ? nullptr : &graph_.vertices[t.vertex];
      if (w != nullptr && !w->step && !t.inverse && continues(v.node->op, w->node->op, false)) {
        push(*w);
      } else {
        list.push_back(t);
      }
    }
    return list;
  }

  // A loop over equal layers adds the same term many times: written once, at its first place.
  static std::vector<Term> merged(const std::vector<Term>& list) {
    std::map<std::pair<std::size_t, bool>, std::size_t> counts, written;
    for (const Term& t : list)
      if (t.vertex != none) ++counts[{t.vertex, t.inverse}];
    std::vector<Term> out;
    for (Term t : list) {
      const std::pair key{t.vertex, t.inverse};
      if (t.vertex != none && counts[key] >= merged_terms) {
        if (written[key]++ > 0) continue;
        t.count = counts[key];
      }
      out.push_back(t);
    }
    return out;
  }
};

class Names {
  std::map<std::string, std::size_t> used_;
  std::size_t nameless_ = 0;

 public:
  std::string unique(const std::string& wanted) {
    const std::size_t n = ++used_[wanted];
    return n == 1 ? wanted : unique(fmt::format("{}#{}", wanted, n));
  }
  std::string of(const Node& n, bool root) {
    if (is_symbol(n)) return unique(n.name);
    return root ? unique("result") : unique(fmt::format("x{}", ++nameless_));
  }
};

}  // namespace

std::string without_breaks(std::string text) {
  std::replace(text.begin(), text.end(), wide_break, ' ');
  std::replace(text.begin(), text.end(), narrow_break, ' ');
  return text;
}

std::vector<Step> derivation_steps(std::span<const Node* const> roots) {
  Graph graph(roots);

  // 1. The order of unfolding.
  std::vector<std::size_t> order, place(graph.vertices.size(), none), stack(graph.roots.rbegin(), graph.roots.rend());
  std::vector<std::vector<std::size_t>> uses;
  while (!stack.empty()) {
    const std::size_t i = stack.back();
    stack.pop_back();
    if (place[i] != none) continue;
    place[i] = order.size();
    order.push_back(i);
    uses.push_back(graph.uses(i));
    stack.insert(stack.end(), uses.back().rbegin(), uses.back().rend());
  }

  // 2. Names, the first of equal ones to the step that is read first.
  Names names;
  std::vector<std::string> name(graph.vertices.size());
  for (const std::size_t i : order)
    name[i] = names.of(*graph.vertices[i].node, std::find(graph.roots.begin(), graph.roots.end(), i) != graph.roots.end());

  // 3. Formulas.
  Writer writer(graph, name);
  std::vector<Step> steps(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    const Node& n = *graph.vertices[order[k]].node;
    Step& step = steps[k];
    step.name = name[order[k]];
    step.input = n.op == Op::input;
    step.value = n.value;
    step.dim = n.dim;
    step.result = n.dim == Dim{} ? format_count(n.value) : format(n.dim, n.value);
    if (n.op != Op::choice) step.source = n.source;
    for (const std::size_t i : uses[k]) step.uses.push_back(place[i]);
    if (!step.input) writer.write(order[k], step);
  }
  return steps;
}

}  // namespace napkin::cli
