#include <doctest/doctest.h>

#include <stdexcept>

#include "cli/table.hpp"

using namespace napkin::cli;

namespace {
Table sample() {
  return {.title = "GPUs",
          .columns = {{"name", false}, {"memory", true}},
          .rows = {{"H100 | \"SXM\"", "80 GB"}, {"α-β, 模型", "1 TB"}, {"short"}},
          .notes = {"dense peaks"}};
}
}  // namespace

TEST_SUITE("table") {
  TEST_CASE("width on a terminal") {
    CHECK(display_width("") == 0);
    CHECK(display_width("tp=8") == 4);
    CHECK(display_width("α–β") == 3);
    CHECK(display_width("模型") == 4);
    CHECK(display_width("e\u0301") == 1);
    CHECK(display_width("\U0001F680") == 2);
    CHECK(display_width("\xff\xfe") == 2);
    CHECK(display_width("\xe6\xa8") == 2);  // cut short
  }

  TEST_CASE("terminal") {
    CHECK(render(sample(), OutputFormat::table) ==
          "GPUs\n\n"
          "name          memory\n"
          "------------  ------\n"
          "H100 | \"SXM\"   80 GB\n"
          "α-β, 模型       1 TB\n"
          "short\n"
          "\n"
          "dense peaks\n");
  }

  TEST_CASE("Markdown") {
    CHECK(render(sample(), OutputFormat::md) ==
          "**GPUs**\n\n"
          "| name | memory |\n"
          "| --- | ---: |\n"
          "| H100 \\| \"SXM\" | 80 GB |\n"
          "| α-β, 模型 | 1 TB |\n"
          "| short |  |\n"
          "\n"
          "- dense peaks\n");
  }

  TEST_CASE("CSV quotes what RFC 4180 says") {
    CHECK(render(sample(), OutputFormat::csv) ==
          "name,memory\n"
          "\"H100 | \"\"SXM\"\"\",80 GB\n"
          "\"α-β, 模型\",1 TB\n"
          "short,\n");
    CHECK(render({.title = "", .columns = {{"a\nb"}}, .rows = {{"x\ny"}}, .notes = {}}, OutputFormat::csv) ==
          "\"a\nb\"\n\"x\ny\"\n");
  }

  TEST_CASE("a line break in a cell does not break a table") {
    const Table t{.title = "", .columns = {{"a", false}}, .rows = {{"x\ny"}}, .notes = {}};
    CHECK(render(t, OutputFormat::table) == "a\n---\nx y\n");
  }

  TEST_CASE("what cannot be rendered is our error") {
    CHECK_THROWS_AS((void)render({.title = "", .columns = {{"a"}}, .rows = {{"1", "2"}}, .notes = {}},
                                 OutputFormat::table),
                    std::logic_error);
    CHECK_THROWS_AS((void)render(sample(), OutputFormat::json), std::logic_error);
  }
}
