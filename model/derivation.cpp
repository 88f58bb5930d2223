#include "model/derivation.hpp"

#include <utility>

namespace napkin {

const Node* Derivation::add(Node n) {
  n.owner = this;
  nodes_.push_back(std::move(n));
  return &nodes_.back();
}

const Node* derive(Op op, Dim dim, double value, const Operand& a, const Operand& b) {
  Derivation* owner = a.node != nullptr ? a.node->owner : b.node != nullptr ? b.node->owner : nullptr;
  if (owner == nullptr) return nullptr;
  // Adding nothing is not a step.
  if (op == Op::add && b.node == nullptr && b.value == 0) return a.node;
  if (op == Op::add && a.node == nullptr && a.value == 0) return b.node;
  return owner->add({.op = op, .dim = dim, .value = value, .a = a, .b = b, .name = {}, .source = {}});
}

const Node* name_node(const Operand& a, std::string_view name, std::string_view source, std::string_view scope) {
  if (a.node == nullptr) return nullptr;
  std::string full(scope);
  if (!full.empty()) full += '.';
  full += name;
  return a.node->owner->add({.op = Op::name,
                             .dim = a.dim,
                             .value = a.value,
                             .a = a,
                             .b = {},
                             .name = std::move(full),
                             .source = std::string(source)});
}

const Node* choice_node(const Operand& a, std::string_view reason, std::string_view source) {
  if (a.node == nullptr) return nullptr;
  return a.node->owner->add({.op = Op::choice,
                             .dim = a.dim,
                             .value = a.value,
                             .a = a,
                             .b = {},
                             .name = std::string(reason),
                             .source = std::string(source)});
}

}  // namespace napkin
