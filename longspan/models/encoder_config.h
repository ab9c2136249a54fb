// What an encoder is made of: one struct, complete in `config.json` as "encoder".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "longspan/base/fields.h"
#include "longspan/io/json.h"
#include "longspan/models/config.h"

namespace longspan::models {

/// Where the norms of a block stand.
enum class NormPlace {
  pre,   ///< x + branch(norm(x)), and one norm after the last block
  post,  ///< norm(x + branch(x)), and one norm after the embedding: the shape of BERT and RoBERTa
};

/// Tokens that are no text. A negative number stands for its place among the last of the vocabulary: -4 begins a
/// sequence where the vocabulary is that of the tokenizer and four more.
struct SpecialTokens {
  int64_t first = -4;      ///< begins every sequence; classification reads it ("<s>", "[CLS]")
  int64_t separator = -3;  ///< ends every part of a sequence ("</s>", "[SEP]")
  int64_t padding = -2;    ///< stands where there is no token
  int64_t mask = -1;       ///< stands for a hidden token
  int64_t between = 2;     ///< separators between two texts of a sequence: 2 as RoBERTa, 1 as BERT
};

/// How many there are.
inline constexpr int64_t kSpecialTokens = 4;

struct EncoderConfig {
  std::string attention = "diffuser";  ///< a name of the registry, for the pattern noncausal_self
  FieldValues attention_options;       ///< as the registry's entry defines them; null or absent = default
  int64_t layers = 4;
  int64_t width = 128;         ///< E
  int64_t heads = 4;           ///< H, divides E
  int64_t kv_heads = 0;        ///< heads of keys and values, a divisor of H; 0 means H
  int64_t feed_forward = 512;  ///< inner width of the feed-forward part
  int64_t vocabulary = 260;    ///< V, special tokens included
  NormPlace norm = NormPlace::post;
  Positions positions = Positions::learned;
  int64_t max_positions = 1024;  ///< tokens of the longest sequence; for learned positions alone
  int64_t position_offset = 0;   ///< learned: the first token reads this row; RoBERTa numbers from 2
  double rotary_base = 10000;    ///< as in ModelConfig
  double dropout = 0.1;          ///< on the embedding, on the output of both branches, in heads; in training mode
  double deviation = 0.02;       ///< initial matrices and tables are N(0, deviation^2)
  int64_t first_token = SpecialTokens{}.first;
  int64_t separator_token = SpecialTokens{}.separator;
  int64_t padding_token = SpecialTokens{}.padding;
  int64_t mask_token = SpecialTokens{}.mask;
  int64_t separators = SpecialTokens{}.between;
};

/// Every field but `attention_options`.
const FieldTable<EncoderConfig>& encoder_fields();

/// "tiny": the defaults. "base": the paper's encoder (specification D.2): 12 layers of width 768, 12 heads,
/// feed-forward 3072, vocabulary 50,265 with RoBERTa's special tokens, 4,096 positions numbered from 2; Diffuser as its
/// authors' code has it, which ends at 4,096 tokens: pattern and padding `reference`, 5 hops, alpha 0.1, dropout of 0.1
/// on weights and hops.
EncoderConfig encoder_preset(const std::string& name);
/// Their names.
std::vector<std::string> encoder_presets();

/// The special tokens as numbers from 0 to vocabulary - 1.
SpecialTokens special_tokens(const EncoderConfig& config);

/// Checks ranges, divisibility, that the special tokens are four of the vocabulary, the attention's name and its
/// options; throws InputError with one line.
void validate(const EncoderConfig& config);

Json to_json(const EncoderConfig& config);
/// As of ModelConfig.
void merge_json(EncoderConfig& config, const Json& json);
EncoderConfig encoder_from_json(const Json& json);

/// Equal when the complete configurations are, options and special tokens written out or not.
bool operator==(const EncoderConfig& a, const EncoderConfig& b);

}  // namespace longspan::models
