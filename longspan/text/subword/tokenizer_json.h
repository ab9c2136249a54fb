// The file `tokenizer.json` of the library `tokenizers`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/text/subword/subword_tokenizer.h"

namespace longspan {

/// Reads one. What is in it is done, or refused by name: an unknown field or type, truncation, padding, dropout. Throws
/// InputError "<origin>: ...".
///
/// Models: BPE (over bytes where ByteLevel is the last pre-tokenizer), WordPiece, Unigram, WordLevel. Normalizers: NFC,
/// NFD, NFKC, NFKD, Nmt, Lowercase, StripAccents, Strip, Prepend, Replace, BertNormalizer, Precompiled, Sequence.
/// Pre-tokenizers: ByteLevel, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, CharDelimiterSplit, FixedLength,
/// UnicodeScripts, BertPreTokenizer, Metaspace, Sequence. Post-processors: TemplateProcessing, BertProcessing,
/// RobertaProcessing, ByteLevel, Sequence. Decoders: ByteLevel, WordPiece, Metaspace, ByteFallback, Fuse, Strip,
/// Replace, Sequence.
std::unique_ptr<SubwordTokenizer> read_tokenizer_json(std::string content, std::string_view origin);

// Its parts, one file each.
void read_normalizer(const Json& json, const std::string& owner, NormalizerList& out);
/// `bytes` becomes true where ByteLevel is among the steps, which must then be the last.
void read_pre_tokenizer(const Json& json, const std::string& owner, PreTokenizerList& out, bool& bytes);
std::unique_ptr<SubwordModel> read_model(const Json& json, const std::string& owner, bool bytes);
SpecialTemplate read_post_processor(const Json& json, const std::string& owner);
void read_decoder(const Json& json, const std::string& owner, bool bytes, DecodeStepList& out);

/// The pattern of "Split" and "Replace": {"String": ...} or {"Regex": ...}; `plain` is set for the former.
std::string read_pattern(const Json& json, const std::string& owner, bool& plain);
/// `text` as a pattern that matches it and nothing else.
std::string quoted_pattern(std::string_view text);

}  // namespace longspan
