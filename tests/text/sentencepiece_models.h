// Small SentencePiece models, trained by the library when a test asks for one.
#pragma once

#include <sentencepiece_trainer.h>

#include <random>
#include <string>
#include <vector>

namespace longspan {

/// Sentences of a few words, some not ASCII, the same always.
inline std::vector<std::string> model_sentences() {
  const char* words[] = {"the",  "sea", "was",  "calm", "and",  "ship", "naïve",
                         "came", "in",  "with", "sail", "über", "no"};
  std::mt19937 draw(1);
  std::vector<std::string> sentences(300);
  for (std::string& sentence : sentences)
    for (int i = 0; i < 8; ++i) sentence += std::string(i > 0 ? " " : "") + words[draw() % std::size(words)];
  return sentences;
}

/// The content of a model file of these sentences; `flags` as for spm_train.
inline std::string train_sentencepiece(const std::string& flags) {
  class Sentences final : public sentencepiece::SentenceIterator {
   public:
    bool done() const override { return next_ >= sentences_.size(); }
    void Next() override { ++next_; }
    const std::string& value() const override { return sentences_[next_]; }
    sentencepiece::util::Status status() const override { return {}; }

   private:
    std::vector<std::string> sentences_ = model_sentences();
    std::size_t next_ = 0;
  } sentences;
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(
      "--minloglevel=2 --hard_vocab_limit=false --character_coverage=1.0 " + flags, &sentences, &model);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  return model;
}

/// Unigrams, NFKC, blanks trimmed and joined, unknown characters unknown: as spm_train does by default.
inline std::string unigram_model() { return train_sentencepiece("--vocab_size=40"); }
/// Byte pairs with bytes for what is unknown, nothing normalised; 330 tokens.
inline std::string byte_pair_model() {
  return train_sentencepiece(
      "--vocab_size=330 --model_type=bpe --byte_fallback=true --normalization_rule_name=identity "
      "--remove_extra_whitespaces=false");
}
/// Characters, nothing normalised, no blank before a line.
inline std::string character_model() {
  return train_sentencepiece(
      "--vocab_size=40 --model_type=char --add_dummy_prefix=false --normalization_rule_name=identity "
      "--remove_extra_whitespaces=false");
}
/// Blanks at the end of words instead of at the beginning.
inline std::string suffix_model() { return train_sentencepiece("--vocab_size=40 --treat_whitespace_as_suffix=true"); }

}  // namespace longspan
