#include <doctest/doctest.h>

#include <string>

#include "model/input/document_input.hpp"

using namespace napkin;

namespace {
// The message of the InputError that `f` throws; empty when it throws none.
template <class F>
std::string error(F f) {
  try {
    f();
  } catch (const InputError& e) {
    return e.what();
  }
  return {};
}

Document parse(std::string_view text) { return Document::parse(text, "x.json"); }
std::string parse_error(std::string_view text) {
  return error([&] { parse(text); });
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }
}  // namespace

TEST_SUITE("document") {
  TEST_CASE("values and their lines") {
    const auto d = parse("{ // comment\n  \"a\": 1,\n  \"b\": {\"c\": [1.5,\n 2]},\n  \"s\": \"x\", \"t\": true, \"n\": null\n}");
    const auto r = d.root();
    CHECK(r["a"].integer(0, 5) == 1);
    CHECK(r["a"].line() == 2);
    CHECK(r["b"]["c"].elements()[0].number() == 1.5);
    CHECK(r["b"]["c"].elements()[1].line() == 4);
    CHECK(r["b"]["c"].elements()[1].pointer() == "/b/c/1");
    CHECK(r["b"]["c"].elements()[1].place() == "x.json:4: /b/c/1");
    CHECK(r["s"].string() == "x");
    CHECK(r["t"].boolean());
    CHECK_FALSE(r.find("n"));
    CHECK(r.has("n"));
    CHECK_FALSE(r.has("z"));
    CHECK(r["b"].raw() == "{\"c\":[1.5,2]}");
    CHECK(r.members().size() == 5);
  }

  TEST_CASE("a line of a JSON-lines file keeps its number") {
    const auto d = Document::parse_line("{\"a\": \"x\"}", "runs.jsonl", 17);
    CHECK(error([&] { (void)d.root()["a"].number(); }) == "runs.jsonl:17: /a: is \"x\", a string; write a number");
    CHECK(has(error([] { Document::parse_line("{\"a\": ", "runs.jsonl", 17); }), "runs.jsonl:17:"));
  }

  TEST_CASE("text that is not JSON says where") {
    CHECK(has(parse_error("{\n  \"a\": 1,\n  \"b\": [1, 2"), "x.json:3:"));
    CHECK(has(parse_error("{\n  \"a\": 1,\n  \"b\": [1, 2"), "unexpected end of input"));
    CHECK(has(parse_error("{\"a\": 1} x"), "x.json:1:"));
    CHECK(parse_error("") == "x.json:1: is empty");
    CHECK(parse_error(" \n") == "x.json:1: is empty");
    CHECK(has(parse_error("{\"a\": 1,\n \"a\": 2}"), "x.json:2: the member \"a\" stands twice"));
    CHECK(has(parse_error("{\"a\": 1e999}"), "too large"));
    CHECK(has(parse_error("{\"a\": \"\n\"}"), "not JSON"));
    CHECK(has(parse_error(std::string(100'000, '[')), "nested more than 200 deep"));
    std::string many = "[0";
    for (int i = 0; i < 1'100'000; ++i) many += ",0";
    CHECK(has(parse_error(many + "]"), "more than a million values"));
  }

  TEST_CASE("NaN and Infinity read as numbers that no reader hands out") {
    const auto d = parse("{\"a\": NaN, \"b\": [Infinity, -Infinity], \"c\": \"NaN\", \"d\": 4 /* NaN */, // Infinity\n\"e\": 1}");
    const auto r = d.root();
    CHECK(r["a"].is(Field::Type::number));
    CHECK(error([&] { (void)r["a"].number(); }) == "x.json:1: /a: is NaN; write a finite number");
    CHECK(has(error([&] { (void)r["a"].integer(0, 9); }), "is NaN; write a whole number from 0 to 9"));
    CHECK(has(error([&] { (void)r["b"].elements()[1].number(); }), "is -Infinity"));
    CHECK(r["b"].raw() == "[null,null]");
    CHECK(r["c"].string() == "NaN");
    CHECK(r["d"].integer(0, 9) == 4);
    CHECK(r["e"].line() == 2);
    CHECK_FALSE(parse_error("{NaN: 1}").empty());
    CHECK_FALSE(parse_error("{\"a\": NaNo}").empty());
  }

  TEST_CASE("unknown and missing members") {
    const auto r = parse("{\"bandwith\": 1,\n\"capacity\": 2}").root();
    CHECK(error([&] { r.only({"bandwidth", "capacity"}); }) ==
          "x.json:1: /bandwith: unknown member; did you mean \"bandwidth\"?");
    CHECK(error([&] { r.only({"capacity", "zzz"}); }) == "x.json:1: /bandwith: unknown member; known are capacity, zzz");
    CHECK(error([&] { (void)r["bandwidth"]; }) ==
          "x.json:1: the member \"bandwidth\" is missing; is \"bandwith\" meant for it?");
    CHECK(error([&] { r.only({"bandwith", "capacity"}); }).empty());
  }

  TEST_CASE("wrong types and units") {
    const auto r = parse("{\"capacity\": \"80 Gb\", \"bandwidth\": \"4.8 TBps\", \"n\": 1.5, \"big\": 99999999999999999999,\n"
                         "\"neg\": -3, \"bare\": 80, \"o\": {}}")
                       .root();
    CHECK(has(error([&] { (void)r["capacity"].bytes(); }), "x.json:1: /capacity: \"80 Gb\" is a number of bits"));
    CHECK(error([&] { (void)r["bandwidth"].bandwidth(); }) ==
          "x.json:1: /bandwidth: \"4.8 TBps\" is not a bandwidth; write a number, a space and one of B/s, GB/s, Gb/s, "
          "MB/s, TB/s");
    CHECK(has(error([&] { (void)r["n"].integer(0, 10); }), "is 1.5; write a whole number from 0 to 10"));
    CHECK(has(error([&] { (void)r["big"].integer(0, 10); }), "write a whole number"));
    CHECK(has(error([&] { (void)r["neg"].integer(1, 10); }), "is -3; write a whole number from 1 to 10"));
    CHECK(has(error([&] { (void)r["bare"].bytes(); }), "is 80; write a string with a unit, such as \"80 GB\""));
    CHECK(has(error([&] { (void)r["o"].number(); }), "is an object; write a number"));
    CHECK(has(error([&] { (void)r["o"].elements(); }), "write an array"));
    CHECK(has(error([&] { (void)r["n"]["x"]; }), "write an object"));
  }

  TEST_CASE("a contradiction shows both places") {
    const auto r = parse("{\"gpus\": 64,\n\"dp\": 9}").root();
    CHECK(error([&] { (void)r["gpus"].conflict(r["dp"], "9 does not divide 64"); }) ==
          "x.json:1: /gpus: 64 contradicts x.json:2: /dp: 9: 9 does not divide 64");
  }

  TEST_CASE("files that cannot be read") {
    CHECK(error([] { Document::read("no-such-file.json"); }) == "no-such-file.json: no such file");
    CHECK(error([] { Document::read("/"); }) == "/: is a folder; name a JSON file");
  }

  TEST_CASE("did you mean") {
    CHECK(did_you_mean("bandwith", {"bandwidth", "capacity"}) == "bandwidth");
    CHECK(did_you_mean("teh", {"the", "a"}) == "the");
    CHECK(did_you_mean("xyz", {"bandwidth"}).empty());
  }
}
