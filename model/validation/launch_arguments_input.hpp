// The arguments a training program was launched with → a run record.
#pragma once

#include <string>
#include <string_view>

namespace napkin::validation {

// Megatron-LM's arguments, as typed ("--tensor-model-parallel-size 8 --bf16", in a launch script or alone) or as the
// program prints them ("tensor_model_parallel_size ....... 8"). What was not typed has the program's default. A JSON
// object; InputError when no argument is found or a value is a shell variable.
// Typed ones are read by the launch target "megatron-args".
[[nodiscard]] std::string record_of_launch(std::string_view text, const std::string& name);

// Whether the text is a log in which the program prints its arguments.
[[nodiscard]] bool prints_arguments(std::string_view text);

}  // namespace napkin::validation
