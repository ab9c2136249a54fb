#include "longspan/nn/registry.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "longspan/nn/delta_net.h"
#include "longspan/nn/diffuser.h"
#include "longspan/nn/given_buffers.h"
#include "longspan/nn/gla.h"
#include "longspan/nn/lavo.h"
#include "longspan/nn/lavo_selective.h"
#include "longspan/nn/local.h"
#include "longspan/nn/softmax.h"
#include "longspan/nn/usable_options.h"

namespace longspan::nn {
namespace {

const std::vector<Pattern> kSelf = {Pattern::causal_self, Pattern::noncausal_self};
const std::vector<Pattern> kAll = {Pattern::causal_self, Pattern::noncausal_self, Pattern::causal_cross,
                                   Pattern::noncausal_cross};
const std::vector<Pattern> kCausalAndCross = {Pattern::causal_self, Pattern::causal_cross, Pattern::noncausal_cross};

using Tables = std::map<std::string, at::Tensor>;

at::Tensor shaped(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  return at::empty(sizes, at::TensorOptions().device(at::kMeta).dtype(dtype));
}

Tables all_shaped(const std::map<std::string, std::vector<int64_t>>& sizes) {
  Tables out;
  for (const auto& [name, each] : sizes) out[name] = shaped(each);
  return out;
}

std::vector<std::string> all_used(Pattern) { return {}; }

bool has_pattern(const AttentionEntry& entry, Pattern pattern) {
  return std::find(entry.patterns.begin(), entry.patterns.end(), pattern) != entry.patterns.end();
}

/// A layer that is nothing but a delta memory.
template <class Layer, class Options>
AttentionEntry memory_layer_entry(const FieldTable<Options>& fields, std::string summary,
                                  const std::vector<OptionFactor>& factors) {
  return {
      .name = fields.owner(),
      .summary = std::move(summary),
      .patterns = {Pattern::causal_self},
      .streaming = true,
      .backends = {"kernel", "composed", "reference"},
      .fields = fields.infos(),
      .unused_fields = all_used,
      .make = [&fields](Pattern pattern, const AttentionSizes& sizes, const FieldValues& given) -> AttentionPtr {
        return std::make_shared<Layer>(pattern, sizes, fields.parse(given));
      },
      .tables = [&fields](const AttentionSizes& sizes, const FieldValues& given) -> Tables {
        return all_shaped(parameter_tables(sizes, fields.parse(given)));
      },
      .harness_configurations = [&fields, factors](Pattern) -> std::vector<FieldValues> {
        return memory_layer_harness(fields.infos(), factors);
      },
  };
}

/// The one table: a new attention is a new entry here.
std::vector<AttentionEntry> table() {
  using std::string;
  std::vector<AttentionEntry> out;
  out.push_back({
      .name = "lavo",
      .summary = "linear attention via orthogonal memory: a sliding window and the compressed past",
      .patterns = kAll,
      .streaming = true,
      .backends = {"kernel", "composed", "reference"},
      .fields = lavo_fields().infos(),
      .unused_fields = lavo_unused,
      .make = [](Pattern pattern, const AttentionSizes& sizes, const FieldValues& given) -> AttentionPtr {
        FieldValues used = given;
        const auto combine = used.find("combine");
        if (is_cross(pattern) && combine != used.end() && combine->second == FieldValue(string("global")))
          used.erase(combine);
        refuse_unused("lavo", pattern, lavo_unused(pattern), used);
        return std::make_shared<LavoAttention>(pattern, sizes, lavo_fields().parse(given));
      },
      .tables = [](const AttentionSizes& sizes, const FieldValues& given) -> Tables {
        const LavoOptions options = lavo_fields().parse(given);
        const bool local = LavoParts(Pattern::causal_self, options).local;
        const bool per_head = options.epe_sharing == LavoOptions::TableSharing::per_head;
        if (!local || !options.epe) return {};
        return {{"position_table", shaped({per_head ? sizes.heads : 1, 2 * options.w - 1})}};
      },
      .harness_configurations = lavo_harness,
  });
  out.push_back({
      .name = "lavo_selective",
      .summary = "a sliding window and a memory of vectors that chooses what it writes and forgets",
      .patterns = kCausalAndCross,
      .streaming = true,
      .backends = {"kernel", "composed", "reference"},
      .fields = lavo_selective_fields().infos(),
      .unused_fields = lavo_selective_unused,
      .make = [](Pattern pattern, const AttentionSizes& sizes, const FieldValues& given) -> AttentionPtr {
        refuse_unused("lavo_selective", pattern, lavo_selective_unused(pattern), given);
        return std::make_shared<LavoSelectiveAttention>(pattern, sizes, lavo_selective_fields().parse(given));
      },
      .tables = [](const AttentionSizes& sizes, const FieldValues& given) -> Tables {
        return all_shaped(lavo_selective_tables(sizes, lavo_selective_fields().parse(given)));
      },
      .harness_configurations = lavo_selective_harness,
  });
  out.push_back({
      .name = "diffuser",
      .summary = "attention over a sparse pattern, applied several times: far tokens meet along its paths",
      .patterns = kSelf,
      .streaming = true,
      .backends = {"kernel", "composed", "reference"},
      .fields = diffuser_fields().infos(),
      .unused_fields = diffuser_unused,
      .make = [](Pattern pattern, const AttentionSizes& sizes, const FieldValues& given) -> AttentionPtr {
        refuse_unused("diffuser", pattern, diffuser_unused(pattern), given);
        return std::make_shared<DiffuserAttention>(pattern, sizes, diffuser_options(given));
      },
      .tables = [](const AttentionSizes&, const FieldValues& given) -> Tables {
        const auto edges = kept_edges(diffuser_options(given).edges);
        if (!edges) return {};
        return {{str_cat(kGivenBuffer, "edge_begin"), shaped({edges->tokens + 1}, at::kLong)},
                {str_cat(kGivenBuffer, "edge_keys"), shaped({edges->pairs}, at::kInt)}};
      },
      .harness_configurations = diffuser_harness,
  });
  out.push_back(memory_layer_entry<DeltaNetAttention>(
      delta_net_fields(), "linear attention whose writes replace what their key reads", {}));
  out.push_back(memory_layer_entry<GatedDeltaNetAttention>(gated_delta_net_fields(), "delta_net with forgetting", {}));
  out.push_back(memory_layer_entry<GlaAttention>(
      gla_fields(), "gated linear attention: writes are added, every slot forgets at its own rate",
      {{"gate_rank", {FieldValue(), int64_t{3}}}, {"gate_temperature", {FieldValue(), 1.5}}}));
  out.push_back({
      .name = "local",
      .summary = "softmax attention over a sliding window",
      .patterns = kSelf,
      .streaming = true,
      .backends = {"kernel", "composed", "reference"},
      .fields = local_fields().infos(),
      .unused_fields = all_used,
      .make = [](Pattern pattern, const AttentionSizes& sizes, const FieldValues& given) -> AttentionPtr {
        return std::make_shared<LocalAttention>(pattern, sizes, local_fields().parse(given));
      },
      .tables = [](const AttentionSizes& sizes, const FieldValues& given) -> Tables {
        const LocalOptions options = local_fields().parse(given);
        if (options.positions != LocalOptions::Positions::table) return {};
        return {{"position_table", shaped({sizes.heads, 2 * options.w - 1})}};
      },
      .harness_configurations = [](Pattern) -> std::vector<FieldValues> {
        return {{}, {{"w", int64_t{1}}}, {{"w", int64_t{3}}, {"positions", string("table")}}};
      },
  });
  out.push_back({
      .name = "softmax",
      .summary = "full attention, by the library's scaled_dot_product_attention",
      .patterns = kAll,
      .streaming = true,
      .backends = {"torch"},
      .fields = softmax_fields().infos(),
      .unused_fields = softmax_unused,
      .make = [](Pattern pattern, const AttentionSizes& sizes, const FieldValues& given) -> AttentionPtr {
        refuse_unused("softmax", pattern, softmax_unused(pattern), given);
        return std::make_shared<SoftmaxAttention>(pattern, sizes, softmax_fields().parse(given));
      },
      .tables = [](const AttentionSizes&, const FieldValues&) -> Tables { return {}; },
      .harness_configurations = [](Pattern) -> std::vector<FieldValues> {
        return {{}, {{"rope", true}}};
      },
  });
  return out;
}

}  // namespace

const std::vector<AttentionEntry>& attentions() {
  static const std::vector<AttentionEntry> entries = table();
  return entries;
}

const AttentionEntry& find_attention(const std::string& name) {
  std::vector<std::string> names;
  for (const AttentionEntry& entry : attentions()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  const std::string near = nearest_name(name, names);
  std::string message = str_cat("unknown attention '", name, "'", near.empty() ? "" : "; did you mean '" + near + "'?",
                                near.empty() ? "; known:" : " Known:");
  for (const std::string& known : names) message += " " + known;
  throw InputError(message);
}

std::vector<FieldValues> harness_configurations(const AttentionEntry& entry, Pattern pattern) {
  std::vector<FieldValues> out;
  if (!has_pattern(entry, pattern)) return out;
  const std::vector<std::string> dropped = entry.unused_fields(pattern);
  for (const FieldValues& configuration : entry.harness_configurations(pattern)) {
    FieldValues usable = without(configuration, dropped);
    if (std::find(out.begin(), out.end(), usable) == out.end()) out.push_back(std::move(usable));
  }
  return out;
}

AttentionPtr make_attention(const std::string& name, Pattern pattern, const AttentionSizes& sizes,
                            const FieldValues& options) {
  const AttentionEntry& entry = find_attention(name);
  if (!has_pattern(entry, pattern)) {
    std::string others;
    for (const AttentionEntry& other : attentions())
      if (has_pattern(other, pattern)) others += (others.empty() ? "" : ", ") + other.name;
    throw InputError(
        str_cat(name, ": the pattern ", to_string(pattern), " is not supported; methods that have it: ", others));
  }
  return entry.make(pattern, sizes, options);
}

}  // namespace longspan::nn
