#include "cli/command.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "cli/html_page.hpp"
#include "model/input_error.hpp"

namespace napkin::cli {

namespace {
Capture* capture = nullptr;
struct Page {
  OutputFormat format = OutputFormat::html;
  std::string text;
};
std::optional<Page> page;  // of --format html and latex, until flush_output()

[[noreturn]] void output_failed() {
  const int error = errno;
  if (error == EPIPE) throw ClosedPipe{};
  throw InputError(fmt::format("cannot write the answer to standard output: {}", std::strerror(error)));
}
void write(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) output_failed();
}
}  // namespace

namespace {
bool all_options = false;
}
void show_all_options() { all_options = true; }
void under(CLI::Option* option, const char* heading) {
  option->group(*heading == '\0' && all_options ? "More options" : heading);
}

void add_format(CLI::App& command, OutputFormat& format) {
  static const std::map<std::string, OutputFormat> formats{{"table", OutputFormat::table},
                                                           {"md", OutputFormat::md},
                                                           {"csv", OutputFormat::csv},
                                                           {"json", OutputFormat::json},
                                                           {"html", OutputFormat::html},
                                                           {"latex", OutputFormat::latex}};
  command
      .add_option_function<std::string>(
          "--format", [&format](const std::string& word) {
            format = formats.at(word);
            if ((format == OutputFormat::html || format == OutputFormat::latex) && capture == nullptr) page = Page{.format = format, .text = {}};
          },
          "How to print the answer: table (default), md, csv, json, html or latex")
      ->check(CLI::Validator(
          [](std::string& word) {
            return formats.contains(word) ? std::string()
                                          : fmt::format("\"{}\" is not a format; write table, md, csv, json, html or latex", word);
          },
          "", "format"))
      ->type_name("FORMAT");
}

Capture::Capture() { capture = this; }
Capture::~Capture() { capture = nullptr; }

bool prints_to_terminal() { return capture == nullptr && isatty(STDOUT_FILENO) == 1; }

void print(const std::string& text) {
  if (capture != nullptr) {
    capture->out += text;
    return;
  }
  if (page) page->text += text;
  else write(text);
}

void flush_output() {
  if (page) {
    const Page done = *std::exchange(page, std::nullopt);
    write(done.format == OutputFormat::latex ? latex_page(done.text) : html_page(done.text));
  }
  if (std::fflush(stdout) != 0) output_failed();
}

void note(const std::string& text) {
  if (capture != nullptr) {
    capture->err += text + '\n';
  } else {
    fmt::print(stderr, "napkin: {}\n", text);
  }
}

}  // namespace napkin::cli
