#include "model/validation/launch_arguments_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

#include "model/input_error.hpp"
#include "model/validation/log_dialects.hpp"

namespace napkin::validation {
namespace {

struct Word {
  std::string text;
  std::size_t line = 0;
};

// Words of a shell script: comments, quotes, line continuations and the brackets of arrays are dropped.
std::vector<Word> words_of(std::string_view script) {
  std::vector<Word> words;
  std::size_t line = 1;
  bool comment = false, open = false;
  for (const char c : script) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0 || std::string_view("\"'\\()").find(c) != std::string_view::npos;
    comment = (comment || (c == '#' && !open)) && c != '\n';
    if (blank || comment) {
      open = false;
    } else {
      if (!open) words.push_back({.text = {}, .line = line});
      words.back().text += c == '=' && words.back().text.starts_with("--") ? ' ' : c;
      open = true;
    }
    line += c == '\n' ? 1 : 0;
  }
  return words;
}

LogArguments typed_arguments(std::string_view text, const std::string& file) {
  const std::vector<Word> words = words_of(text);
  LogArguments a;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].text.starts_with("--") || words[i].text.size() < 4) continue;
    std::string name = words[i].text.substr(2), value;
    if (const auto equal = name.find(' '); equal != std::string::npos) {
      value = name.substr(equal + 1);
      name.resize(equal);
    } else if (i + 1 < words.size() && !words[i + 1].text.starts_with("--")) {
      value = words[i + 1].text;
    }
    std::replace(name.begin(), name.end(), '-', '_');
    // Only what decides the shape, the layout or the precision must be a number here.
    constexpr std::string_view needed[] = {"num_layers", "hidden_size", "num_attention_heads", "ffn_hidden_size", "seq_length",
                                           "micro_batch_size", "global_batch_size", "tensor_model_parallel_size",
                                           "pipeline_model_parallel_size", "context_parallel_size", "expert_model_parallel_size",
                                           "num_query_groups", "vocab_size", "num_experts", "moe_router_topk"};
    if (value.find('$') != std::string::npos && std::find(std::begin(needed), std::end(needed), name) != std::end(needed))
      throw InputError(fmt::format("{}:{}: --{} is the shell variable {}; write its value", file, words[i].line, words[i].text.substr(2), value));
    a.set(name, value.empty() ? "True" : value);
  }
  return a;
}

// What the program takes where nothing is typed, under the names it prints.
void set_defaults(LogArguments& a) {
  const auto otherwise = [&](const char* name, std::string value) {
    if (a.text(name).empty()) a.set(name, std::move(value));
  };
  const std::int64_t heads = a.whole("num_attention_heads").value_or(0), hidden = a.whole("hidden_size").value_or(0);
  if (hidden > 0) otherwise("ffn_hidden_size", std::to_string(a.flag("swiglu") ? (4 * hidden * 2 / 3) / 64 * 64 : 4 * hidden));
  if (hidden > 0 && heads > 0) otherwise("kv_channels", std::to_string(hidden / heads));
  otherwise("normalization", "LayerNorm");
  otherwise("position_embedding_type", a.text("use_rotary_position_embeddings").empty() ? "learned_absolute" : "rope");
  otherwise("add_bias_linear", a.text("disable_bias_linear").empty() ? "True" : "False");
  otherwise("tensor_model_parallel_size", "1");
  otherwise("pipeline_model_parallel_size", "1");
  otherwise("context_parallel_size", "1");
  otherwise("sequence_parallel", "False");
  otherwise("use_distributed_optimizer", "False");
  if (!a.text("recompute_activations").empty()) otherwise("recompute_granularity", "selective");
  if (!a.text("fp8_format").empty()) otherwise("fp8", a.text("fp8_format"));
  // --bf16 accumulates gradients in fp32.
  if (a.flag("bf16")) otherwise("accumulate_allreduce_grads_in_fp32", "True");
  const auto layers = a.whole("num_layers"), pp = a.whole("pipeline_model_parallel_size"),
             chunk = a.whole("num_layers_per_virtual_pipeline_stage");
  if (layers && pp && chunk && *chunk > 0 && *pp > 0) otherwise("virtual_pipeline_model_parallel_size", std::to_string(*layers / *pp / *chunk));
}

}  // namespace

std::string record_of_launch(std::string_view text, const std::string& name) {
  LogLines lines;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  LogArguments a = dotted_arguments(lines);
  if (a.text("tensor_model_parallel_size").empty()) {
    a = typed_arguments(text, name);
    if (!a.whole("num_layers") && !a.whole("tensor_model_parallel_size") && !a.whole("micro_batch_size"))
      throw InputError(name + ": has no argument that is known; write them as --tensor-model-parallel-size 8 --num-layers 32 ...");
    set_defaults(a);
  }
  return record_of_arguments(a);
}

}  // namespace napkin::validation
