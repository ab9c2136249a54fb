// Small tokenizers for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/text/subword/byte_alphabet.h"
#include "longspan/text/subword/tokenizer_json.h"
#include "longspan/text/subword/vocabulary.h"

namespace longspan {

inline uint32_t add_token(Vocabulary& vocabulary, std::string name) {
  const uint32_t id = vocabulary.size();
  vocabulary.add(std::move(name), id, "test");
  return id;
}

/// The bytes, each with its own number.
inline Vocabulary byte_vocabulary() {
  Vocabulary out;
  for (int byte = 0; byte < 256; ++byte) add_token(out, to_byte_alphabet(std::string(1, static_cast<char>(byte))));
  return out;
}

/// A tokenizer.json of byte-level BPE: the bytes, then what `merges` make, then <|endoftext|>.
inline Json byte_level_json(const std::vector<std::pair<std::string, std::string>>& merges) {
  Json vocabulary = Json::object(), list = Json::array();
  uint32_t next = 0;
  for (int byte = 0; byte < 256; ++byte) vocabulary[to_byte_alphabet(std::string(1, static_cast<char>(byte)))] = next++;
  for (const auto& [left, right] : merges) {
    const std::string a = to_byte_alphabet(left), b = to_byte_alphabet(right);
    vocabulary[a + b] = next++;
    list.push_back(Json::array({a, b}));
  }
  const Json level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", Json::array({{{"id", next},
                                         {"content", "<|endoftext|>"},
                                         {"single_word", false},
                                         {"lstrip", false},
                                         {"rstrip", false},
                                         {"normalized", false},
                                         {"special", true}}})},
          {"normalizer", nullptr},
          {"pre_tokenizer", level},
          {"post_processor", nullptr},
          {"decoder", level},
          {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", list}}}};
}

inline std::unique_ptr<SubwordTokenizer> byte_level_tokenizer() {
  return read_tokenizer_json(
      byte_level_json({{"t", "h"}, {"th", "e"}, {" ", "the"}, {" ", "s"}, {"e", "a"}, {" s", "ea"}, {"\n", "\n"}})
          .dump(),
      "small.json");
}

}  // namespace longspan
