#include "model/validation/launch_arguments_input.hpp"

#include <sstream>

#include "model/launch/launch_input.hpp"
#include "model/launch/target_input.hpp"
#include "model/validation/log_dialects.hpp"

namespace napkin::validation {
namespace {

LogArguments printed(std::string_view text) {
  LogLines lines;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return dotted_arguments(lines);
}

}  // namespace

bool prints_arguments(std::string_view text) { return !printed(text).text("tensor_model_parallel_size").empty(); }

std::string record_of_launch(std::string_view text, const std::string& name) {
  if (prints_arguments(text)) return record_of_arguments(printed(text));
  return launch::read_launch(text, name, launch::read_target("megatron-args")).record;
}

}  // namespace napkin::validation
