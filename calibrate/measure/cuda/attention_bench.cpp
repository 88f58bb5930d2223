// Attention through cuDNN's graph API: fused forward (with the statistics that training keeps) and backward.
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

#include <cmath>
#include <unordered_map>

#include "calibrate/measure/cuda/bench.hpp"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace napkin::measure {
namespace {

namespace fe = cudnn_frontend;

Library cudnn_library(const std::string& folders) { return {{"libcudnn.so.9", "libcudnn.so"}, folders}; }

enum Id : std::int64_t { q = 1, k, v, o, stats, d_o, d_q, d_k, d_v };

class AttentionBench final : public Bench {
  Context& c_;
  Library runtime_;  // the frontend looks for it by name
  Library library_;
  cudnnHandle_t handle_ = nullptr;
  Buffer workspace_;

  static void check(fe::error_t e, const char* what) {
    if (e.is_good()) return;
    throw Unsupported(std::string(what) + ": cuDNN: " + e.get_message());
  }

  struct Shape {
    std::int64_t b, s, sq, hq, hk, d;  // s: of the keys
    bool causal, backward;
    explicit Shape(const Json& j)
        : b(j.at("b")), s(j.at("s")), sq(j.value("sq", s)), hq(j.at("hq")), hk(j.at("hk")), d(j.at("d")), causal(j.at("causal")), backward(j.at("kind") == "attn_bwd") {}
    [[nodiscard]] std::size_t of_queries() const { return static_cast<std::size_t>(b * sq * hq * d) * 2; }
    [[nodiscard]] std::size_t of_keys() const { return static_cast<std::size_t>(b * s * hk * d) * 2; }
    // dao2022flashattention: QKᵀ and PV, half of it under a causal mask; the backward pass makes five products of the two.
    [[nodiscard]] double flops() const {
      return (backward ? 10.0 : 4.0) * double(b) * double(sq) * double(s) * double(hq) * double(d) / (causal ? 2 : 1);
    }
    // Each operand once: Q, K, V, O; backward also dO and the gradients.
    [[nodiscard]] double moved() const { return (backward ? 4.0 : 2.0) * (double(of_queries()) + double(of_keys())); }
  };

  // Rows of tokens hold all heads, as projections write them.
  static auto tensor(fe::graph::Graph& g, const char* name, Id id, const Shape& s, std::int64_t length, std::int64_t heads) {
    return g.tensor(fe::graph::Tensor_attributes().set_name(name).set_uid(id).set_dim({s.b, heads, length, s.d}).set_stride({length * heads * s.d, s.d, heads * s.d, 1}));
  }
  static void output(const std::shared_ptr<fe::graph::Tensor_attributes>& t, Id id, const Shape& s, std::int64_t length, std::int64_t heads) {
    t->set_output(true).set_uid(id).set_dim({s.b, heads, length, s.d}).set_stride({length * heads * s.d, s.d, heads * s.d, 1});
  }

  std::shared_ptr<fe::graph::Graph> built(const Shape& s, bool backward) {
    auto g = std::make_shared<fe::graph::Graph>();
    g->set_io_data_type(fe::DataType_t::BFLOAT16).set_intermediate_data_type(fe::DataType_t::FLOAT).set_compute_data_type(fe::DataType_t::FLOAT);
    const auto tq = tensor(*g, "Q", q, s, s.sq, s.hq), tk = tensor(*g, "K", k, s, s.s, s.hk), tv = tensor(*g, "V", v, s, s.s, s.hk);
    const float scale = 1.0F / std::sqrt(static_cast<float>(s.d));
    const std::vector<std::int64_t> stats_dim{s.b, s.hq, s.sq, 1}, stats_stride{s.hq * s.sq, s.sq, 1, 1};
    if (backward) {
      const auto to = tensor(*g, "O", o, s, s.sq, s.hq), tdo = tensor(*g, "dO", d_o, s, s.sq, s.hq);
      const auto ts = g->tensor(fe::graph::Tensor_attributes().set_name("Stats").set_uid(stats).set_dim(stats_dim).set_stride(stats_stride).set_data_type(fe::DataType_t::FLOAT));
      auto options = fe::graph::SDPA_backward_attributes().set_name("backward").set_attn_scale(scale);
      if (s.causal) options.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
      const auto [gq, gk, gv] = g->sdpa_backward(tq, tk, tv, to, tdo, ts, options);
      output(gq, d_q, s, s.sq, s.hq);
      output(gk, d_k, s, s.s, s.hk);
      output(gv, d_v, s, s.s, s.hk);
    } else {
      const bool keeps_stats = s.sq == s.s;  // training keeps them, decoding does not
      auto options = fe::graph::SDPA_attributes().set_name("forward").set_generate_stats(keeps_stats).set_attn_scale(scale);
      if (s.causal) options.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
      const auto [to, ts] = g->sdpa(tq, tk, tv, options);
      output(to, o, s, s.sq, s.hq);
      if (keeps_stats) ts->set_output(true).set_uid(stats).set_dim(stats_dim).set_stride(stats_stride).set_data_type(fe::DataType_t::FLOAT);
    }
    check(g->build(handle_, {fe::HeurMode_t::A}), "building the attention graph");
    return g;
  }

  Work prepared(const Json& shape) {
    const Shape s(shape);
    const auto big = s.of_queries(), small = s.of_keys();
    const auto of_stats = static_cast<std::size_t>(s.b * s.hq * s.sq) * 4;
    c_.inputs.begin(2 * Arena::rounded(big) + 2 * Arena::rounded(small), kernels::Type::bf16, c_.stream);
    c_.results.begin(2 * Arena::rounded(big) + 2 * Arena::rounded(small) + Arena::rounded(of_stats), kernels::Type::bf16, c_.stream);
    using Pack = std::unordered_map<std::int64_t, void*>;
    const auto pack = std::make_shared<Pack>(Pack{{q, c_.inputs.take(big)}, {k, c_.inputs.take(small)}, {v, c_.inputs.take(small)}, {d_o, c_.inputs.take(big)},
                                                  {o, c_.results.take(big)}, {d_q, c_.results.take(big)}, {d_k, c_.results.take(small)}, {d_v, c_.results.take(small)},
                                                  {stats, c_.results.take(of_stats)}});
    const auto forward = built(s, false);
    const auto graph = s.backward ? built(s, true) : forward;
    workspace_.reserve(static_cast<std::size_t>(std::max({forward->get_workspace_size(), graph->get_workspace_size(), std::int64_t{1}})));
    // The backward pass needs what the forward pass left.
    check(forward->execute(handle_, *pack, workspace_.data()), "attention forward");
    c_.synchronise();
    return {[=, this](cudaStream_t) { check(graph->execute(handle_, *pack, workspace_.data()), "attention"); },
            {{"flops", s.flops()}, {"moved", static_cast<std::int64_t>(s.moved())}}};
  }

 public:
  explicit AttentionBench(Context& c)
      : c_(c), runtime_({"libcudart.so.13", "libcudart.so.12"}, c.libraries), library_(cudnn_library(c.libraries)) {
    fe::cudnn_dlhandle = library_.handle();
    if (fe::detail::create_handle(&handle_) != CUDNN_STATUS_SUCCESS) throw Unsupported("cuDNN cannot make a handle on this device");
    (void)fe::detail::set_stream(handle_, c_.stream);
  }
  ~AttentionBench() override {
    if (handle_ != nullptr) (void)fe::detail::destroy_handle(handle_);
  }
  Outcome measure(const Case& c) override { return measured(c_, c, prepared(c.shape)); }
  Work prepare(const Case& c) override { return prepared(c.shape); }
};

}  // namespace

std::unique_ptr<Bench> attention_bench(Context& context) { return std::make_unique<AttentionBench>(context); }

std::string cudnn_version(const std::string& libraries) {
  try {
    const auto v = cudnn_library(libraries).symbol<std::size_t (*)()>("cudnnGetVersion")();
    return std::to_string(v / 10000) + '.' + std::to_string(v / 100 % 100) + '.' + std::to_string(v % 100);
  } catch (const Unsupported&) {
    return "";
  }
}

}  // namespace napkin::measure
