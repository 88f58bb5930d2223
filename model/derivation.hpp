// The derivation of a number: a tree of the operations that produced it, made by the arithmetic itself.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace napkin {

// Exponents of the base dimensions.
struct Dim {
  std::int8_t byte{}, second{}, flop{}, joule{};
  friend constexpr bool operator==(const Dim&, const Dim&) = default;
  friend constexpr Dim operator+(Dim a, Dim b) {
    return {static_cast<std::int8_t>(a.byte + b.byte), static_cast<std::int8_t>(a.second + b.second),
            static_cast<std::int8_t>(a.flop + b.flop), static_cast<std::int8_t>(a.joule + b.joule)};
  }
  friend constexpr Dim operator-(Dim a, Dim b) {
    return {static_cast<std::int8_t>(a.byte - b.byte), static_cast<std::int8_t>(a.second - b.second),
            static_cast<std::int8_t>(a.flop - b.flop), static_cast<std::int8_t>(a.joule - b.joule)};
  }
};

// The closed set of node kinds.
enum class Op : std::uint8_t {
  input,    // a constant or a parameter of the question: name, value, source
  add,
  subtract,
  multiply,
  divide,
  maximum,
  minimum,
  smooth_maximum,
  ceiling,
  floor,
  log2,
  exponential,
  logarithm,    // natural
  square_root,
  power,        // a dimensionless number to a dimensionless exponent
  name,    // a named step: name, source, one argument
  choice,  // the branch taken: reason in `name`, one argument
};

struct Node;

// One argument of an operation: a node, or, where `node` is null, the literal `value`.
struct Operand {
  const Node* node{};
  double value{};
  Dim dim{};
};

class Derivation;

struct Node {
  Op op{};
  Dim dim{};
  double value{};
  Operand a{}, b{};  // unary operations use `a` alone
  std::string name;    // input, name: the symbol; choice: the reason
  std::string source;  // a key of docs/references.bib, or a file and pointer
  Derivation* owner{};
};

// Owns the nodes of one explained prediction. Nothing is global: a thread may have its own.
class Derivation {
  std::deque<Node> nodes_;

 public:
  const Node* add(Node n);
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
};

// A node over the operands, owned by whichever of them has an owner; null when all are literals.
const Node* derive(Op op, Dim dim, double value, const Operand& a, const Operand& b = {});
const Node* name_node(const Operand& a, std::string_view name, std::string_view source, std::string_view scope);
const Node* choice_node(const Operand& a, std::string_view reason, std::string_view source);

}  // namespace napkin
