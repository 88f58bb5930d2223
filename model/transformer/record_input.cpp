// The `model` object of a run record, and of a preset: strict, unknown members are errors. docs/json.md lists it.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "model/transformer/layer_pattern.hpp"
#include "model/transformer/model_input.hpp"

namespace napkin {
namespace {

// Bounds wide enough for any model anyone has drawn, narrow enough that no product overflows a double's exact range
// unnoticed (parameters.cpp refuses counts above 2⁵³).
constexpr std::int64_t max_layers = 10'000, max_width = 10'000'000, max_vocab = 100'000'000, max_heads = 100'000,
                       max_experts = 1'000'000, max_tokens = 1'000'000'000'000;

std::string lower(std::string s) {
  std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return s;
}

int small(const Field& f, std::int64_t at_least, std::int64_t at_most) { return int(f.integer(at_least, at_most)); }

int small_or(const Field& object, std::string_view key, int otherwise, std::int64_t at_least, std::int64_t at_most) {
  const auto f = object.find(key);
  return f ? small(*f, at_least, at_most) : otherwise;
}

bool flag_or(const Field& object, std::string_view key, bool otherwise) {
  const auto f = object.find(key);
  return f ? f->boolean() : otherwise;
}

template <class E>
E word(const Field& f, std::initializer_list<std::pair<std::string_view, E>> words) {
  const std::string found = lower(f.string());
  std::string known;
  for (const auto& [text, value] : words) {
    if (found == text) return value;
    if (!known.empty()) known += ", ";
    known += '"';
    known += text;
    known += '"';
  }
  f.fail("\"" + f.string() + "\" is not known; write one of " + known);
}

// The first whole number in the text at or after `from`; 0 when there is none.
std::int64_t number_in(std::string_view text, std::size_t from) {
  const auto start = text.find_first_of("0123456789", from);
  std::int64_t n = 0;
  if (start != std::string_view::npos) std::from_chars(text.data() + start, text.data() + text.size(), n);
  return n;
}

// What the `attention` words say: a kind, a window, a hybrid pattern.
struct AttentionWords {
  bool mha = false, mqa = false, mla = false;
  std::int64_t window = 0;
  int full_every = 0;
  std::string pattern;
};

AttentionWords attention_words(const Field& f) {
  const std::string text = lower(f.string());
  AttentionWords w;
  if (text.starts_with("hybrid")) {
    // "hybrid MEM*E/*E" carries the pattern itself; "hybrid mamba2+moe+attention" leaves it to hybrid_pattern.
    const std::string rest = f.string().size() > 7 ? f.string().substr(7) : "";
    if (!rest.empty() && rest.find_first_not_of("ME*-/") == std::string::npos) w.pattern = rest;
    return w;
  }
  const std::string kind = text.substr(0, text.find_first_of(" ("));
  w.mha = kind == "mha";
  w.mqa = kind == "mqa";
  w.mla = kind == "mla";
  if (!w.mha && !w.mqa && !w.mla && kind != "gqa") {
    f.fail("\"" + f.string() + "\" is not known; write \"mha\", \"gqa\", \"mqa\", \"mla\" or \"hybrid ...\"");
  }
  if (const auto at = text.find("window"); at != std::string::npos) {
    w.window = number_in(text, at);
    if (w.window == 0) f.fail("names a window without its length; write \"sliding-window 4096\"");
    if (text.find("alternating") != std::string::npos) w.full_every = 2;
  } else if (text.size() > kind.size()) {
    f.fail("\"" + text.substr(kind.size()) + "\" is not understood; write \"(sliding-window N)\" or "
           "\"(alternating sliding-window N / full)\"");
  }
  return w;
}

class RecordReader {
 public:
  explicit RecordReader(const Field& model, std::int64_t seq_len) : m_(model), seq_len_(seq_len) {}

  Architecture read() {
    check_members();
    a_.name = m_.find("name") ? m_["name"].string() : "unnamed";
    a_.origin = "the record's model";
    a_.hidden = m_["hidden"].integer(1, max_width);
    a_.vocab = m_["vocab"].integer(1, max_vocab);
    layers_ = small(m_["layers"], 1, max_layers);
    if (const auto words = m_.find("attention")) words_ = attention_words(*words);
    read_ffn();
    read_style();
    attention_ = read_attention();
    moe_ = read_moe();
    if (const auto pattern = hybrid_pattern(); !pattern.empty()) {
      hybrid_layers(pattern);
    } else {
      plain_layers();
    }
    return std::move(a_);
  }

 private:
  const Field& m_;
  std::int64_t seq_len_;
  Architecture a_;
  int layers_ = 0;
  AttentionWords words_;
  Ffn ffn_;
  bool bias_qkv_ = false, bias_out_ = false;
  Attention attention_;
  std::optional<Moe> moe_;

  void assume(const std::string& what) { a_.assumptions.push_back(what); }

  void check_members() const {
    m_.only({"name", "layers", "hidden", "heads", "kv_heads", "head_dim", "v_head_dim", "ffn", "gated", "vocab",
             "tied_embeddings", "attention", "mla", "moe", "position", "bias", "norm", "activation", "clamped", "window",
             "window_pattern", "chunk", "hybrid_pattern", "mamba", "mtp_layers", "qk_norm", "sinks", "norms_per_layer",
             "parallel_ffn", "embedding_norm", "final_norm", "embedding_width", "head_bias", "dropout", "context",
             "params_b", "active_params_b", "schema", "source", "aliases"});
    for (const auto key : {"params_b", "active_params_b"}) {
      if (const auto f = m_.find(key); f && f->number() <= 0) f->fail("must be above 0");
    }
  }

  void read_ffn() {
    ffn_.gated = m_["gated"].boolean();
    ffn_.width = small_or(m_, "ffn", 0, 1, max_width);
    if (ffn_.width == 0 && !m_.find("moe")) m_.fail("has neither \"ffn\" nor \"moe\"; write the feed-forward width");
    ffn_.clamped = flag_or(m_, "clamped", false);
    ffn_.activation = ffn_.gated ? Activation::silu : Activation::gelu;
    if (const auto f = m_.find("activation")) {
      ffn_.activation = word<Activation>(*f, {{"silu", Activation::silu},
                                              {"swiglu", Activation::silu},
                                              {"gelu", Activation::gelu},
                                              {"geglu", Activation::gelu},
                                              {"relu", Activation::relu},
                                              {"squared_relu", Activation::squared_relu},
                                              {"relu2", Activation::squared_relu}});
    }
  }

  // An ungated GELU feed-forward marks the GPT-2/3 lineage (radford2019, brown2020): learned positions, LayerNorm, tied
  // embeddings. Used only where the record is silent, and said.
  void read_style() {
    const bool gpt = !ffn_.gated && ffn_.activation == Activation::gelu;
    const std::string because = gpt ? " (ungated GELU, as GPT-3)" : "";
    if (const auto f = m_.find("tied_embeddings")) {
      a_.tied_embeddings = f->boolean();
    } else {
      a_.tied_embeddings = gpt;
      assume("tied_embeddings: " + std::string(gpt ? "true" : "false") + because);
    }
    if (const auto f = m_.find("norm")) {
      a_.norm = word<Norm>(*f, {{"rmsnorm", Norm::rmsnorm},
                                {"layernorm", Norm::layernorm},
                                {"layernorm_no_bias", Norm::layernorm_no_bias},
                                {"none_parametric", Norm::none_parametric}});
    } else {
      a_.norm = ffn_.gated ? Norm::rmsnorm : Norm::layernorm;
      assume(ffn_.gated ? "norm: rmsnorm (gated feed-forward)" : "norm: layernorm (ungated feed-forward)");
    }
    if (const auto f = m_.find("position")) {
      a_.position = word<Position>(*f, {{"rope", Position::rope},
                                        {"learned", Position::learned},
                                        {"alibi", Position::alibi},
                                        {"none", Position::none}});
    } else {
      a_.position = gpt ? Position::learned : Position::rope;
      assume("position: " + std::string(gpt ? "learned" : "rope") + because);
    }
    if (const auto f = m_.find("context")) a_.context = f->integer(1, max_tokens);
    if (a_.position == Position::learned) {
      a_.learned_positions = a_.context > 0 ? a_.context : seq_len_;
      assume(a_.learned_positions > 0
                 ? "learned positions: " + std::to_string(a_.learned_positions) + " rows"
                 : "learned positions are not counted: neither context nor sequence length is known");
    }
    if (const auto f = m_.find("bias")) {
      if (f->is(Field::Type::boolean)) {
        bias_qkv_ = bias_out_ = ffn_.bias = f->boolean();
      } else {
        enum class Where { qkv, attention, ffn };
        const auto where = word<Where>(*f, {{"qkv", Where::qkv}, {"attention", Where::attention}, {"ffn", Where::ffn}});
        bias_qkv_ = where != Where::ffn;
        bias_out_ = where == Where::attention;
        ffn_.bias = where == Where::ffn;
      }
    } else {
      assume("bias: false");
    }
    a_.embedding_norm = flag_or(m_, "embedding_norm", false);
    a_.final_norm = flag_or(m_, "final_norm", true);
    a_.embedding_width = small_or(m_, "embedding_width", 0, 1, max_width);
    a_.head_bias = flag_or(m_, "head_bias", false);
    a_.dropout = flag_or(m_, "dropout", false);
  }

  Attention read_attention() {
    Attention t;
    const auto heads = m_["heads"];
    t.heads = small(heads, 1, max_heads);
    t.kv_heads = small_or(m_, "kv_heads", t.heads, 1, max_heads);
    if (t.heads % t.kv_heads != 0) {
      heads.conflict(m_["kv_heads"], std::to_string(t.heads) + " query heads are not a multiple of " +
                                         std::to_string(t.kv_heads) + " key-value heads");
    }
    const auto words = m_.find("attention");
    if (words_.mha && t.kv_heads != t.heads) {
      words->conflict(m_["kv_heads"], "\"mha\" has as many key-value heads as heads (" + std::to_string(t.heads) + ")");
    }
    if (words_.mqa && t.kv_heads != 1) words->conflict(m_["kv_heads"], "\"mqa\" has one key-value head");
    t.bias_qkv = bias_qkv_;
    t.bias_out = bias_out_;
    if (const auto f = m_.find("qk_norm")) {
      t.qk_norm = word<QkNorm>(
          *f, {{"none", QkNorm::none}, {"per_head", QkNorm::per_head}, {"full_width", QkNorm::full_width}});
    }
    t.sinks = flag_or(m_, "sinks", false);
    if (const auto mla = m_.find("mla")) {
      read_mla(*mla, t);
    } else {
      if (words_.mla) words->fail("\"mla\" needs the member \"mla\" with its ranks and head dimensions");
      t.head_dim = head_dim(heads, t.heads);
      t.v_head_dim = small_or(m_, "v_head_dim", t.head_dim, 1, max_width);
    }
    read_window(t);
    return t;
  }

  int head_dim(const Field& heads, int n) const {
    if (const auto f = m_.find("head_dim")) return small(*f, 1, max_width);
    if (a_.hidden % n != 0) {
      m_["hidden"].conflict(heads, "hidden " + std::to_string(a_.hidden) + " is not a multiple of " +
                                       std::to_string(n) + " heads; write head_dim");
    }
    return int(a_.hidden / n);
  }

  void read_mla(const Field& mla, Attention& t) {
    if (m_.find("attention") && !words_.mla) {
      m_["attention"].conflict(mla, "attention is \"" + m_["attention"].string() + "\" but mla is given");
    }
    mla.only({"q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"});
    t.is_mla = true;
    t.q_lora_rank = small_or(mla, "q_lora_rank", 0, 0, max_width);
    t.kv_lora_rank = small(mla["kv_lora_rank"], 1, max_width);
    t.head_dim = small(mla["qk_nope_head_dim"], 1, max_width);
    t.rope_head_dim = small(mla["qk_rope_head_dim"], 0, max_width);
    t.v_head_dim = small_or(mla, "v_head_dim", t.head_dim, 1, max_width);
    if (const auto f = m_.find("head_dim")) {
      const int d = small(*f, 1, max_width);
      if (d != t.head_dim && d != t.head_dim + t.rope_head_dim && d != t.v_head_dim) {
        f->conflict(mla, "head_dim " + std::to_string(d) + " is none of the mla dimensions (" +
                             std::to_string(t.head_dim) + ", with rope " + std::to_string(t.head_dim + t.rope_head_dim) +
                             ", values " + std::to_string(t.v_head_dim) + ")");
      }
    }
  }

  void read_window(Attention& t) {
    t.chunk = m_.find("chunk") ? m_["chunk"].integer(1, max_tokens) : 0;
    if (const auto f = m_.find("window")) {
      t.window = f->integer(1, max_tokens);
      if (words_.window > 0 && words_.window != t.window) {
        f->conflict(m_["attention"], "window " + std::to_string(t.window) + " against " + std::to_string(words_.window));
      }
    } else {
      t.window = words_.window;
    }
    words_.full_every = small_or(m_, "window_pattern", words_.full_every, 0, max_layers);
    if (words_.full_every > 0 && t.window == 0 && t.chunk == 0) {
      m_["window_pattern"].fail("needs \"window\" or \"chunk\"");
    }
  }

  std::optional<Moe> read_moe() {
    const auto f = m_.find("moe");
    if (!f) return {};
    f->only({"experts", "top_k", "ffn", "shared_experts", "shared_ffn", "dense_layers", "interleave", "latent",
             "shared_gate", "router_bias", "expert_bias", "groups", "group_limit", "capacity_factor", "beside_dense"});
    Moe m;
    m.experts = small((*f)["experts"], 1, max_experts);
    m.top_k = small((*f)["top_k"], 1, max_experts);
    if (m.top_k > m.experts) {
      (*f)["top_k"].conflict((*f)["experts"], "top_k " + std::to_string(m.top_k) + " is above " +
                                                  std::to_string(m.experts) + " experts");
    }
    m.ffn = small((*f)["ffn"], 1, max_width);
    m.latent = small_or(*f, "latent", 0, 0, max_width);
    m.shared_experts = small_or(*f, "shared_experts", 0, 0, max_experts);
    const std::int64_t shared = std::int64_t(m.shared_experts) * m.ffn;
    if (shared > max_width) (*f)["shared_experts"].fail("the shared experts are wider than 10,000,000");
    m.shared_ffn = small_or(*f, "shared_ffn", int(shared), 0, max_width);
    if (m.shared_ffn > 0 && m.shared_experts == 0) m.shared_experts = 1;
    m.shared_gate = flag_or(*f, "shared_gate", false);
    m.router_bias = flag_or(*f, "router_bias", false);
    m.expert_bias = flag_or(*f, "expert_bias", false);
    m.groups = small_or(*f, "groups", 0, 0, max_experts);
    m.group_limit = small_or(*f, "group_limit", 0, 0, max_experts);
    if (const auto c = f->find("capacity_factor")) {
      m.capacity_factor = c->number();
      if (m.capacity_factor < 0) c->fail("must not be negative; 0 = dropless");
    }
    return m;
  }

  LayerKind kind(bool moe, bool windowed) const {
    LayerKind k;
    k.attention = attention_;
    if (!windowed) k.attention->window = k.attention->chunk = 0;
    k.ffn = ffn_;
    if (moe) {
      k.ffn.moe = moe_;
      if (!flag_or(m_["moe"], "beside_dense", false)) k.ffn.width = 0;
    }
    k.norms = small_or(m_, "norms_per_layer", 2, 0, 16);
    k.parallel_ffn = flag_or(m_, "parallel_ffn", false);
    k.name = moe ? "moe" : "dense";
    if (words_.full_every > 0) k.name += windowed ? "_sliding" : "_full";
    return k;
  }

  void plain_layers() {
    if (const auto f = m_.find("mamba")) f->fail("needs \"hybrid_pattern\" to say which layers are Mamba");
    MoePattern moe;
    if (moe_) {
      moe.dense_first = small_or(m_["moe"], "dense_layers", 0, 0, max_layers);
      moe.every = small_or(m_["moe"], "interleave", 1, 1, max_layers);
      if (moe.dense_first > layers_) {
        m_["moe"]["dense_layers"].conflict(m_["layers"], std::to_string(moe.dense_first) + " dense layers of " +
                                                             std::to_string(layers_));
      }
      if ((moe.dense_first > 0 || moe.every > 1) && ffn_.width == 0) {
        m_["moe"].fail("some layers are dense, but \"ffn\", their width, is missing");
      }
    }
    const WindowPattern window{words_.full_every};
    for (int i = 0; i < layers_; ++i) append_layer(a_, kind(moe_ && moe.is_moe(i), window.is_windowed(i)));
    a_.mtp_layers = small_or(m_, "mtp_layers", 0, 0, max_layers);
    a_.mtp_kind = a_.layers.back();
    a_.mtp_copies_embeddings = a_.mtp_layers > 0 && attention_.is_mla;
  }

  std::string hybrid_pattern() const {
    const auto f = m_.find("hybrid_pattern");
    if (f) return f->string();
    if (m_.find("attention") && lower(m_["attention"].string()).starts_with("hybrid") && words_.pattern.empty()) {
      m_["attention"].fail("a hybrid needs \"hybrid_pattern\": one letter a layer, M (Mamba), * (attention), "
                           "E (experts), - (feed-forward)");
    }
    return words_.pattern;
  }

  Mamba read_mamba() const {
    const auto f = m_["mamba"];
    f.only({"num_heads", "head_dim", "state_dim", "groups", "conv"});
    Mamba m;
    m.heads = small(f["num_heads"], 1, max_heads);
    m.head_dim = small(f["head_dim"], 1, max_width);
    const std::int64_t inner = std::int64_t(m.heads) * m.head_dim;
    if (inner > max_width) f["head_dim"].conflict(f["num_heads"], "heads times head_dim is above 10,000,000");
    m.inner = int(inner);
    m.state = small(f["state_dim"], 1, max_width);
    m.groups = small_or(f, "groups", 1, 1, max_heads);
    m.conv = small_or(f, "conv", 4, 1, 1024);
    return m;
  }

  // One letter, one layer with one norm; "/…" behind the last layer is the pattern of each MTP module.
  void hybrid_layers(const std::string& pattern) {
    const Field at = m_.find("hybrid_pattern") ? m_["hybrid_pattern"] : m_["attention"];
    const auto slash = pattern.find('/');
    const std::string main = pattern.substr(0, slash);
    if (main.size() != std::size_t(layers_)) {
      at.conflict(m_["layers"], "the pattern has " + std::to_string(main.size()) + " layers, not " +
                                    std::to_string(layers_));
    }
    for (const char c : main) append_layer(a_, hybrid_kind(c, at));
    a_.mtp_layers = small_or(m_, "mtp_layers", 0, 0, max_layers);
    if (a_.mtp_layers == 0) return;
    const std::string module =
        slash == std::string::npos ? "*E" : pattern.substr(slash + 1, pattern.find('/', slash + 1) - slash - 1);
    LayerKind mtp;
    mtp.name = "mtp";
    mtp.norms = 0;
    for (const char c : module) {
      const LayerKind part = hybrid_kind(c, at);
      if (part.attention) mtp.attention = part.attention;
      if (part.mamba) mtp.mamba = part.mamba;
      if (part.ffn.moe || part.ffn.width > 0) mtp.ffn = part.ffn;
      ++mtp.norms;
    }
    a_.mtp_kind = kind_index(a_, mtp);
  }

  LayerKind hybrid_kind(char c, const Field& at) const {
    LayerKind k;
    k.norms = 1;
    k.ffn = {.width = 0, .gated = ffn_.gated, .activation = ffn_.activation, .bias = ffn_.bias, .clamped = ffn_.clamped, .moe = {}};
    switch (c) {
      case 'M':
        k.name = "mamba";
        k.mamba = read_mamba();
        break;
      case '*':
        k.name = "attention";
        k.attention = attention_;
        break;
      case 'E':
        k.name = "moe";
        k.ffn.moe = moe_;
        if (!moe_) at.fail("has layers of experts (E), but \"moe\" is missing");
        break;
      case '-':
        k.name = "ffn";
        k.ffn.width = ffn_.width;
        if (ffn_.width == 0) at.fail("has feed-forward layers (-), but \"ffn\", their width, is missing");
        break;
      default: at.fail(std::string("'") + c + "' is not a kind of layer; write M, *, E or -");
    }
    return k;
  }
};

// The expert layer that most are.
const Moe* experts_of(const Architecture& a) {
  for (const LayerKind& k : a.kinds)
    if (k.ffn.moe) return &*k.ffn.moe;
  return nullptr;
}

// A record seldom says how its router groups experts, or that activations are clamped. A preset of its name and its shape
// does.
void complete_experts(const Field& model, Architecture& a) {
  const Moe* given = experts_of(a);
  if (given == nullptr || model.has("schema") || model["moe"].has("groups") || !preset_text(a.name)) return;
  const Architecture preset = read_model(a.name);
  const Moe* known = experts_of(preset);
  if (known == nullptr || preset.hidden != a.hidden || known->experts != given->experts || known->top_k != given->top_k ||
      known->ffn != given->ffn)
    return;
  const bool clamped = std::any_of(preset.kinds.begin(), preset.kinds.end(), [](const LayerKind& k) { return k.ffn.clamped; });
  if (known->groups == 0 && !clamped) return;
  const int groups = known->groups, limit = known->group_limit;
  for (LayerKind& k : a.kinds) {
    if (!k.ffn.moe) continue;
    k.ffn.moe->groups = groups;
    k.ffn.moe->group_limit = limit;
    k.ffn.clamped = clamped;
  }
  a.assumptions.push_back("experts: " + (groups > 0 ? "groups " + std::to_string(groups) + ", group_limit " + std::to_string(limit) : "clamped activation") + " as preset " + preset.name);
}

}  // namespace

Architecture read_record_model(const Field& model, std::int64_t seq_len) {
  if (model.is(Field::Type::string)) return read_model(model.string());
  if (!model.is(Field::Type::object)) model.fail("is neither a model's name nor an object with its shape");
  Architecture a = RecordReader(model, seq_len).read();
  complete_experts(model, a);
  return a;
}

}  // namespace napkin
