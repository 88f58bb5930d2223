#include <doctest/doctest.h>

#include <stdexcept>

#include "cli/html_page.hpp"
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

  TEST_CASE("HTML is one page, escaped, with nothing to load") {
    const std::string page = html_page("before <b>\n" + render(sample(), OutputFormat::html) + "\n1 < 2 & 3\x02\n");
    CHECK(page.starts_with("<!doctype html>\n<html lang=\"en\">"));
    CHECK(page.ends_with("</body>\n</html>\n"));
    CHECK(page.find("<title>before &lt;b&gt;</title>") != page.npos);
    CHECK(page.find("<pre>before &lt;b&gt;</pre>\n<table>\n<caption>GPUs</caption>\n"
                    "<thead><tr><th>name</th><th class=\"n\">memory</th></tr>\n</thead>\n"
                    "<tbody>\n<tr><td>H100 | &quot;SXM&quot;</td><td class=\"n\">80 GB</td></tr>\n") != page.npos);
    CHECK(page.find("<tr><td>short</td><td class=\"n\"></td></tr>\n</tbody>\n</table>\n<ul>\n<li>dense peaks</li>\n</ul>\n"
                    "<pre>1 &lt; 2 &amp; 3</pre>") != page.npos);
    for (const char* loads : {"src=", "href=", "@import", "url(", "<script"}) CHECK(page.find(loads) == page.npos);
    CHECK(html_page("").find("<title>napkin</title>") != std::string::npos);
    CHECK(html_page(render(sample(), OutputFormat::html)).find("<title>GPUs</title>") != std::string::npos);
    const Table hostile{.title = "<script>alert(1)</script>", .columns = {{"<i>"}}, .rows = {{"\x03</table><script>"}}, .notes = {"<script>"}};
    CHECK(html_page(render(hostile, OutputFormat::html)).find("<script") == std::string::npos);
  }
}
