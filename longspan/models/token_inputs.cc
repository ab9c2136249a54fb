#include "longspan/models/token_inputs.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>

#include <cmath>

#include "longspan/base/check.h"
#include "longspan/base/rng.h"
#include "longspan/models/positions.h"
#include "longspan/nn/dropout_seed.h"

namespace longspan::models {

namespace {

void check_cu_seqlens(const std::string& owner, const at::Tensor& cu, const at::Tensor& tokens) {
  LONGSPAN_CHECK(cu.defined() && cu.dim() == 1 && cu.numel() >= 1 &&
                     (cu.scalar_type() == at::kLong || cu.scalar_type() == at::kInt),
                 owner,
                 ": cu_seqlens must be a one-dimensional int32 or int64 tensor of at least one element, "
                 "got ",
                 cu.defined() ? str_cat(cu.scalar_type(), " ", cu.sizes()) : "an undefined tensor");
  LONGSPAN_CHECK(tokens.size(0) == 1, owner, ": cu_seqlens needs a batch of 1, got ", tokens.size(0));
  const at::Tensor data = cu.to(at::kCPU, at::kLong).contiguous();
  const int64_t* border = data.const_data_ptr<int64_t>();
  const int64_t last = data.numel() - 1;
  LONGSPAN_CHECK(border[0] == 0 && border[last] == tokens.size(1), owner, ": cu_seqlens must go from 0 to ",
                 tokens.size(1), ", got ", border[0], " to ", border[last]);
  for (int64_t i = 1; i <= last; ++i)
    LONGSPAN_CHECK(border[i] >= border[i - 1], owner, ": cu_seqlens must never fall, got ", border[i], " at index ", i);
}

}  // namespace

void check_tokens(const std::string& owner, const at::Tensor& tokens, int64_t vocabulary) {
  LONGSPAN_CHECK(tokens.dim() == 2 && tokens.scalar_type() == at::kLong, owner,
                 ": tokens must be [batch, length] of int64, got ", tokens.sizes(), " of ", tokens.scalar_type());
  if (tokens.numel() == 0) return;
  const auto [least, most] = tokens.aminmax();
  const int64_t low = least.item<int64_t>(), high = most.item<int64_t>();
  LONGSPAN_CHECK(low >= 0 && high < vocabulary, owner, ": tokens must be from 0 to ", vocabulary - 1, ", got ",
                 low < 0 ? low : high);
}

void check_mask(const std::string& owner, const char* name, const at::Tensor& mask, const at::Tensor& tokens) {
  LONGSPAN_CHECK(mask.defined() && mask.scalar_type() == at::kBool && mask.sizes() == tokens.sizes(), owner, ": ", name,
                 " must be bool ", tokens.sizes(), ", got ",
                 mask.defined() ? str_cat(mask.scalar_type(), " ", mask.sizes()) : "an undefined tensor");
}

void check_masks(const std::string& owner, const TokenInputs& inputs, const at::Tensor& tokens) {
  LONGSPAN_CHECK(!inputs.valid || !inputs.cu_seqlens, owner, ": valid and cu_seqlens cannot both be given");
  if (inputs.valid) check_mask(owner, "valid", *inputs.valid, tokens);
  if (inputs.global_tokens) check_mask(owner, "global_tokens", *inputs.global_tokens, tokens);
  if (inputs.cu_seqlens) check_cu_seqlens(owner, *inputs.cu_seqlens, tokens);
}

at::Tensor embed(const std::string& owner, const EmbeddingTables& tables, const at::Tensor& tokens,
                 const at::Tensor& positions) {
  at::Tensor x = at::embedding(tables.tokens, tokens);
  if (tables.kind == Positions::sinusoidal) {
    const int64_t width = x.size(-1);
    return x * std::sqrt(static_cast<double>(width)) + sinusoidal(positions, width, x.scalar_type());
  }
  if (tables.kind == Positions::learned) {
    const int64_t last = positions.numel() ? positions.max().item<int64_t>() : 0;
    LONGSPAN_CHECK(last < tables.maximum, owner, ": learned positions end at max_positions = ", tables.maximum,
                   ", got position ", last);
    return x + at::embedding(tables.positions, tables.offset == 0 ? positions : positions + tables.offset);
  }
  return x;
}

nn::AttentionInputs attention_inputs(const TokenInputs& inputs) {
  nn::AttentionInputs out;
  out.valid = inputs.valid;
  out.cu_seqlens = inputs.cu_seqlens;
  out.global_tokens = inputs.global_tokens;
  return out;
}

DropoutKey key_of_pass(const std::optional<DropoutKey>& given, bool drops) {
  if (given || !drops) return given.value_or(DropoutKey{});
  return {static_cast<uint64_t>(nn::dropout_seed().item<int64_t>()), 0};
}

DropoutKey key_of_part(const DropoutKey& key, uint64_t number) {
  return {stream_of({key.seed, number}), key.first_token};
}

}  // namespace longspan::models
