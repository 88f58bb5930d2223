// Builds the command line, parses it, and turns every failure into one line and an exit code.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "model/input/document_input.hpp"
#include "model/input_error.hpp"

namespace {
using namespace napkin;
using namespace napkin::cli;

constexpr int bad_input = 2;
constexpr std::string_view exit_codes =
    "Exit status: 0 answered, 1 nothing feasible or outside tolerance, 2 bad input.\n"
    "The answer goes to stdout, everything else to stderr.";

// "N:INT in [1 - 64]" is a type and its check; help shows the type.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    if (const auto from = text.find(':'); from != text.npos)
      if (const auto to = text.find(']', from); to != text.npos) text.erase(from, to + 1 - from);
    return text;
  }
};

void build(CLI::App& app, Session& session) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.name("napkin");
  app.set_version_flag("--version", "napkin " NAPKIN_VERSION, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->column_width(32);
  app.require_subcommand(1);
  add_commands(app, session);
  app.footer("napkin COMMAND --help tells more about one command; napkin questions list shows which answers what.\n" + std::string(exit_codes));
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    const std::string examples = command->get_footer();
    const auto hidden = command->get_options([](const CLI::Option* o) { return o->get_group().empty(); }).size();
    const std::string more = hidden == 0 ? "" : fmt::format("napkin {} --help-all lists {} more options.\n", command->get_name(), hidden);
    command->footer((examples.empty() ? "" : examples + "\n\n") + more + std::string(exit_codes));
  }
}

// `app` or the command that was being parsed when parsing failed.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  return *at;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + ' ' + app.get_name();
}

// Where to read on, at the end of every complaint about usage.
std::string see(const CLI::App& app, std::string_view what) {
  return fmt::format(" ({} --help {})", full_name(app), what);
}

std::string hint(std::string_view word, const std::vector<std::string>& known) {
  const std::string close = did_you_mean(word, {known.begin(), known.end()});
  return close.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", close);
}

// What to say about the first word that no option or command took.
std::string unexpected(const CLI::App& at, const std::string& word) {
  std::vector<std::string> known;
  if (word.starts_with('-')) {
    for (const CLI::Option* option : at.get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    const std::string name = word.substr(0, word.find('='));
    if (std::find(known.begin(), known.end(), name) != known.end())
      return fmt::format("option \"{}\" belongs behind the command: {} {} ...", name, full_name(at), name);
    return fmt::format("unknown option \"{}\"{}{}", name, hint(name, known), see(at, "lists the options"));
  }
  for (const CLI::App* command : at.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(command->get_name());
  if (!known.empty())
    return fmt::format("unknown command \"{}\"{}{}", word, hint(word, known), see(at, "lists the commands"));
  return fmt::format("unexpected argument \"{}\"{}", word, see(at, "shows what it takes"));
}

// The parser's complaint in our words where its own are terse.
std::string plainer(const CLI::ParseError& error) {
  const std::string text = error.what();
  if (const auto at = text.find(": 1 required "); at != text.npos && text.ends_with(" missing"))
    return text.substr(0, at) + " needs a value";
  constexpr std::string_view conversion = "Could not convert: ";
  if (const auto at = text.find(" = "); at != text.npos && text.starts_with(conversion))
    return fmt::format("{}: \"{}\" is not a number it takes", text.substr(conversion.size(), at - conversion.size()),
                       text.substr(at + 3));
  return text;
}

// A misspelt option also leaves the right one missing: the unknown word is the better complaint.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = innermost(app);
  if (const std::vector<std::string> extra = app.remaining(true); !extra.empty()) return unexpected(at, extra.front());
  if (!at.get_subcommands([](const CLI::App*) { return true; }).empty())
    return "no command given" + see(at, "lists them");
  return plainer(error) + see(at, "shows what it takes");
}

int complain(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  note(text);
  return bad_input;
}

int run(CLI::App& app, Session& session, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    std::ostringstream out, err;
    app.exit(asked, out, err);
    print(out.str());
  } catch (const CLI::ParseError& error) {
    return complain(usage_error(app, error));
  }
  return session.exit_code;
}

}  // namespace

// No option means NaN, an infinity, or a number beyond what any machine has; range checks let NaN through.
static void check_numbers(int argc, char** argv) {
  constexpr double largest = 1e30, smallest = 1e-24;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    const auto equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
    const std::string text(equals == std::string_view::npos ? word : word.substr(equals + 1));
    char* end = nullptr;
    const double v = std::strtod(text.c_str(), &end);
    if (text.empty() || end != text.c_str() + text.size()) continue;
    if (!std::isfinite(v) || std::abs(v) > largest || (v != 0 && std::abs(v) < smallest))
      throw InputError(fmt::format("{}\"{}\": not a usable number; write a finite one between 1e-24 and 1e30",
                                   equals != std::string_view::npos        ? std::string(word.substr(0, equals)) + ": "
                                   : i > 1 && argv[i - 1][0] == '-' ? std::string(argv[i - 1]) + ": "
                                                                           : "",
                                   one_line(text, 40)));
  }
}

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  Session session;
  try {
    check_numbers(argc, argv);
    std::vector<char*> words(argv, argv + argc);
    for (char*& word : words)
      if (std::string_view(word) == "--help-all") {
        show_all_options();
        static char help[] = "--help";
        word = help;
      }
    CLI::App app("How a large language model trains on a cluster: memory, time and MFU of every layout, with the "
                 "arithmetic shown.");
    build(app, session);
    const int code = run(app, session, argc, words.data());
    flush_output();
    return code;
  } catch (const ClosedPipe&) {
    return session.exit_code;
  } catch (const InputError& error) {
    return complain(one_line(error.what(), 2000));
  } catch (const std::bad_alloc&) {
    return complain("out of memory; ask for less (--top, a smaller space)");
  } catch (const std::exception& error) {
    return complain(fmt::format("internal error: {}; please report it", error.what()));
  }
}
