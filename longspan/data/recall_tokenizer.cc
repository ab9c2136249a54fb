#include "longspan/data/recall_tokenizer.h"

#include "longspan/text/subword/tokenizer_json.h"

namespace longspan {

std::unique_ptr<Tokenizer> recall_tokenizer(const RecallOptions& options) {
  Json vocabulary = Json::object();
  for (int64_t token = 0; token < recall_vocabulary(options); ++token) vocabulary[recall_word(options, token)] = token;
  const Json json = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", Json::array()},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                     {"post_processor", nullptr},
                     {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", false}}},
                     {"model",
                      {{"type", "WordPiece"},
                       {"unk_token", "f0"},
                       {"continuing_subword_prefix", "##"},
                       {"max_input_chars_per_word", 100},
                       {"vocab", vocabulary}}}};
  return read_tokenizer_json(json.dump(), "recall");
}

}  // namespace longspan
