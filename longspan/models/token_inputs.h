// What enters a model: tokens, what is said of them, and what becomes of them before the first block.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "longspan/models/config.h"
#include "longspan/models/residual_dropout.h"
#include "longspan/nn/attention.h"

namespace longspan::models {

/// Padding and packing, as nn::AttentionInputs has them, at most one of the two; and what dropout is drawn from.
struct TokenInputs {
  std::optional<at::Tensor> valid = {};          ///< [B, N] bool, true = a real token
  std::optional<at::Tensor> cu_seqlens = {};     ///< [S + 1], B = 1
  std::optional<at::Tensor> global_tokens = {};  ///< [B, N] bool, as nn::AttentionInputs has them
  std::optional<DropoutKey> dropout = {};        ///< of the residual branches; none: a seed from torch's generator
};

/// InputError, "<owner>: ...", unless tokens are [B, N] int64 from 0 to vocabulary - 1.
void check_tokens(const std::string& owner, const at::Tensor& tokens, int64_t vocabulary);

/// InputError unless `mask`, called `name`, fits the tokens.
void check_mask(const std::string& owner, const char* name, const at::Tensor& mask, const at::Tensor& tokens);

/// InputError unless masks fit the tokens and are at most one: positions are formed from them before an attention has
/// looked at them.
void check_masks(const std::string& owner, const TokenInputs& inputs, const at::Tensor& tokens);

/// Tables that are read at the entrance of a model.
struct EmbeddingTables {
  at::Tensor tokens;     ///< [V, E]
  at::Tensor positions;  ///< [offset + maximum, E], learned positions alone
  Positions kind = Positions::none;
  int64_t maximum = 0;  ///< of learned positions
  int64_t offset = 0;   ///< row of the first one

  /// Whether embed() needs positions.
  bool reads_positions() const { return kind == Positions::sinusoidal || kind == Positions::learned; }
};

/// tokens [B, N], positions [B, N] int64 (undefined where they are not needed) -> [B, N, E]. InputError for a position
/// behind the learned ones.
at::Tensor embed(const std::string& owner, const EmbeddingTables& tables, const at::Tensor& tokens,
                 const at::Tensor& positions);

/// What an attention is given of them.
nn::AttentionInputs attention_inputs(const TokenInputs& inputs);

/// The key of a pass: as given; else, where something is dropped, with a seed from torch's generator.
DropoutKey key_of_pass(const std::optional<DropoutKey>& given, bool drops);

/// The key of a part of a model with this number.
DropoutKey key_of_part(const DropoutKey& key, uint64_t number);

}  // namespace longspan::models
