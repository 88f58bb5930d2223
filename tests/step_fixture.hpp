// Jobs for the tests of step and search.
#pragma once

#include <memory>
#include <string>

#include "hardware/hardware_input.hpp"
#include "model/frameworks/profile_input.hpp"
#include "model/step/precision.hpp"
#include "model/step/prediction.hpp"
#include "model/transformer/model_input.hpp"

namespace napkin::test {

struct TestJob {
  Architecture model;
  Hardware hardware;
  Profile profile;
  Job job;

  TestJob(const TestJob&) = delete;
  TestJob& operator=(const TestJob&) = delete;
  TestJob(Architecture m, const std::string& hw, const std::string& framework, std::int64_t gpus, std::int64_t sequence,
          std::int64_t batch, int year = 0)
      : model(std::move(m)), hardware(read_hardware(hw)), profile(read_profile(framework, year)) {
    job = {.model = &model,
           .hardware = &hardware,
           .profile = &profile,
           .precision = *precision_named("bf16"),
           .gpus = gpus,
           .sequence = sequence,
           .batch = batch,
           .adapters = {},
           .measured = {}};
  }
  TestJob(const std::string& m, const std::string& hw, const std::string& framework, std::int64_t gpus,
          std::int64_t sequence, std::int64_t batch, int year = 0)
      : TestJob(read_model(m), hw, framework, gpus, sequence, batch, year) {}
};

// A GPT of korthikanti2022: LayerNorm, biases, dropout, no gate, ffn = 4h.
inline Architecture gpt(int layers, int hidden, int heads, int vocab) {
  Architecture a;
  a.name = "gpt-test";
  a.hidden = hidden;
  a.vocab = vocab;
  a.norm = Norm::layernorm;
  a.position = Position::learned;
  a.learned_positions = 2048;
  a.tied_embeddings = true;
  a.dropout = true;
  LayerKind k;
  Attention at;
  at.heads = at.kv_heads = heads;
  at.head_dim = at.v_head_dim = hidden / heads;
  k.attention = at;
  k.ffn.width = 4 * hidden;
  k.ffn.gated = false;
  a.kinds = {k};
  a.layers.assign(static_cast<std::size_t>(layers), 0);
  return a;
}

}  // namespace napkin::test
