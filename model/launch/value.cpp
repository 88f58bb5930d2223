#include "model/launch/value.hpp"

#include <fmt/format.h>

namespace napkin::launch {

Value Value::code(std::string v) {
  Value out(std::move(v));
  out.kind = Kind::code;
  return out;
}

bool Value::set() const {
  switch (kind) {
    case Kind::none: return false;
    case Kind::truth: return truth;
    case Kind::whole: return whole != 0;
    case Kind::real: return real != 0;
    case Kind::text:
    case Kind::code: return !text.empty();
    case Kind::list: return !list.empty();
  }
  return false;
}

bool operator==(const Value& a, const Value& b) {
  const auto number = [](const Value& v) { return v.is(Value::Kind::whole) || v.is(Value::Kind::real); };
  if (number(a) && number(b) && a.kind != b.kind)
    return (a.is(Value::Kind::real) ? a.real : static_cast<double>(a.whole)) ==
           (b.is(Value::Kind::real) ? b.real : static_cast<double>(b.whole));
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Value::Kind::none: return true;
    case Value::Kind::truth: return a.truth == b.truth;
    case Value::Kind::whole: return a.whole == b.whole;
    case Value::Kind::real: return a.real == b.real;
    case Value::Kind::text:
    case Value::Kind::code: return a.text == b.text;
    case Value::Kind::list: return a.list == b.list;
  }
  return false;
}

std::string decimal(double v) {
  std::string s = fmt::format("{}", v);
  if (s.find_first_of(".en") == std::string::npos) s += ".0";
  // YAML 1.1 takes "1e-05" for text: a mantissa needs its point.
  if (const auto e = s.find('e'); e != std::string::npos && s.find('.') == std::string::npos) s.insert(e, ".0");
  return s;
}

std::string plain(const Value& v) {
  switch (v.kind) {
    case Value::Kind::none: return "nothing";
    case Value::Kind::truth: return v.truth ? "true" : "false";
    case Value::Kind::whole: return std::to_string(v.whole);
    case Value::Kind::real: return decimal(v.real);
    case Value::Kind::text:
    case Value::Kind::code: return v.text;
    case Value::Kind::list: {
      std::string s;
      for (const Value& e : v.list) s += (s.empty() ? "" : ", ") + plain(e);
      return s;
    }
  }
  return {};
}

}  // namespace napkin::launch
