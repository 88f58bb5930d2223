// What every command file shares. A command is one file with add_NAME(app, session): options in, one answer out.
// cli/commands.cpp registers them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/table.hpp"

namespace napkin::cli {

// Filled by the command's callback. Exit codes: 0 answered, 1 nothing feasible or outside tolerance, 2 bad input.
struct Session {
  int exit_code = 0;
};

// The heading that --help lists an option below: its own, or "" for what only --help-all shows.
void under(CLI::Option* option, const char* heading);
inline void seldom(CLI::Option* option) { under(option, ""); }
// --help lists everything from now on (set before commands are added).
void show_all_options();

// Adds --format table|md|csv|json|html to a command.
void add_format(CLI::App& command, OutputFormat& format);
// Writes to stdout, with --format html the page when flush_output() ends it; a failed write is InputError. A closed pipe is success: it ends the command by ClosedPipe.
void print(const std::string& text);
// Pushes out what print() buffered, with the same outcomes. main calls it last.
void flush_output();
// Whether stdout is a terminal and nothing captures it.
[[nodiscard]] bool prints_to_terminal();
// While it lives, print() and note() write to its strings instead.
class Capture {
 public:
  Capture();
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  std::string out, err;
};
// Writes "napkin: note" to stderr.
void note(const std::string& text);

// Nobody reads stdout any more. Not a std::exception: only main catches it.
struct ClosedPipe {};

void add_plan(CLI::App& app, Session& session);
void add_predict(CLI::App& app, Session& session);
void add_compare(CLI::App& app, Session& session);
void add_emit(CLI::App& app, Session& session);
void add_sweep(CLI::App& app, Session& session);
void add_params(CLI::App& app, Session& session);
void add_flops(CLI::App& app, Session& session);
void add_memory(CLI::App& app, Session& session);
void add_collective(CLI::App& app, Session& session);
void add_shard(CLI::App& app, Session& session);
void add_network(CLI::App& app, Session& session);
void add_pipeline(CLI::App& app, Session& session);
void add_kv(CLI::App& app, Session& session);
void add_decode(CLI::App& app, Session& session);
void add_prefill(CLI::App& app, Session& session);
void add_serve(CLI::App& app, Session& session);
void add_goodput(CLI::App& app, Session& session);
void add_roofline(CLI::App& app, Session& session);
void add_attention(CLI::App& app, Session& session);
void add_finetune(CLI::App& app, Session& session);
void add_quant(CLI::App& app, Session& session);
void add_limits(CLI::App& app, Session& session);
void add_overlap(CLI::App& app, Session& session);
void add_steptime(CLI::App& app, Session& session);
void add_moe(CLI::App& app, Session& session);
void add_select(CLI::App& app, Session& session);
void add_traintime(CLI::App& app, Session& session);
void add_chip(CLI::App& app, Session& session);
void add_questions(CLI::App& app, Session& session);
void add_hw(CLI::App& app, Session& session);
void add_models(CLI::App& app, Session& session);
void add_frameworks(CLI::App& app, Session& session);
void add_validate(CLI::App& app, Session& session);
void add_why_oom(CLI::App& app, Session& session);

}  // namespace napkin::cli
