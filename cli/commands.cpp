#include "cli/commands.hpp"

#include "cli/calibrate.hpp"

namespace napkin::cli {

void add_commands(CLI::App& app, Session& session) {
  add_plan(app, session);
  add_predict(app, session);
  add_compare(app, session);
  add_emit(app, session);
  add_validate(app, session);
  add_params(app, session);
  add_flops(app, session);
  add_memory(app, session);
  add_why_oom(app, session);
  add_collective(app, session);
  add_network(app, session);
  add_shard(app, session);
  add_pipeline(app, session);
  add_calibrate(app, session);
  add_kv(app, session);
  add_decode(app, session);
  add_prefill(app, session);
  add_serve(app, session);
  add_goodput(app, session);
  add_roofline(app, session);
  add_attention(app, session);
  add_budget(app, session);
  add_finetune(app, session);
  add_quant(app, session);
  add_limits(app, session);
  add_overlap(app, session);
  add_steptime(app, session);
  add_moe(app, session);
  add_select(app, session);
  add_traintime(app, session);
  add_chip(app, session);
  add_questions(app, session);
  add_hw(app, session);
  add_models(app, session);
  add_frameworks(app, session);
}

}  // namespace napkin::cli
