// Small tasks of bytes that a tiny encoder can learn.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/tasks/trainer.h"
#include "longspan/text/byte_tokenizer.h"

namespace longspan::tasks {

inline models::EncoderConfig byte_encoder() {
  models::EncoderConfig config;
  config.attention = "softmax";
  config.layers = 1;
  config.width = 32;
  config.heads = 2;
  config.feed_forward = 64;
  config.max_positions = 64;
  config.dropout = 0;
  config.deviation = 0.1;
  return config;
}

/// Two bytes a token, the last alone.
class Pairs final : public Tokenizer {
 public:
  std::string name() const override { return "pairs"; }
  int64_t vocabulary_size() const override { return 256; }
  bool is_bytewise() const override { return false; }
  std::vector<uint32_t> encode(std::string_view text) const override { return encode_aligned(text).tokens; }
  longspan::Encoding encode_aligned(std::string_view text) const override {
    longspan::Encoding out;
    for (std::size_t i = 0; i < text.size(); i += 2) {
      out.tokens.push_back(static_cast<unsigned char>(text[i]));
      out.source_bytes.push_back(i + 1 < text.size() ? 2 : 1);
    }
    return out;
  }
  std::string decode(std::span<const uint32_t> tokens) const override { return {tokens.begin(), tokens.end()}; }
  FieldValues description() const override { return {{"tokenizer", std::string("pairs")}}; }
};

inline RecordPlace place(int64_t line) { return {std::make_shared<const std::string>("data.jsonl"), line}; }

inline SequenceOptions sequence_options(models::HeadKind kind, int64_t length = 64) {
  static const ByteTokenizer tokenizer;
  SequenceOptions options;
  options.tokenizer = &tokenizer;
  options.special = special_tokens(byte_encoder());
  options.kind = kind;
  options.length = length;
  return options;
}

inline std::string random_letters(Rng& rng, int64_t count, std::string_view letters) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) text += letters[rng.below(letters.size())];
  return text;
}

/// Texts of the letters a to f; the label says whether "x" or "y" stands somewhere among them.
inline ExampleSet find_the_letter(int64_t count, uint64_t seed) {
  ExampleSet set;
  Rng rng(seed);
  for (int64_t i = 0; i < count; ++i) {
    std::string text = random_letters(rng, 6 + static_cast<int64_t>(rng.below(20)), "abcdef");
    const bool is_x = rng.below(2) == 0;
    text[rng.below(text.size())] = is_x ? 'x' : 'y';
    add_record(set, sequence_options(models::HeadKind::classification),
               TextRecord{text, {is_x ? "x" : "y"}, place(i + 1)});
  }
  number_labels(set, {"x", "y"});
  return set;
}

/// Any of the labels "x", "y" and "z", by the letters of the text.
inline ExampleSet find_all_letters(int64_t count, uint64_t seed) {
  ExampleSet set;
  Rng rng(seed);
  for (int64_t i = 0; i < count; ++i) {
    std::string text = random_letters(rng, 12, "abcdef");
    std::vector<std::string> labels;
    for (std::size_t letter = 0; letter < 3; ++letter) {
      if (rng.below(2) == 0) continue;
      const char c = "xyz"[letter];
      text[rng.below(4) + 4 * letter] = c;
      labels.emplace_back(1, c);
    }
    add_record(set, sequence_options(models::HeadKind::multi_label), TextRecord{text, labels, place(i + 1)});
  }
  number_labels(set, {"x", "y", "z"});
  return set;
}

/// The answer is the digits of the context; where `empty`, every fourth context has none.
inline ExampleSet find_the_digits(int64_t count, uint64_t seed, bool empty = false) {
  ExampleSet set;
  Rng rng(seed);
  for (int64_t i = 0; i < count; ++i) {
    std::string context = random_letters(rng, 20, "abcdef ");
    QuestionRecord record{"which?", "", {}, place(i + 1)};
    if (!empty || rng.below(4) > 0) {
      const auto at = static_cast<int64_t>(rng.below(17));
      context.replace(static_cast<std::size_t>(at), 3, random_letters(rng, 3, "0123456789"));
      record.answers = {{at, at + 3}};
    }
    record.context = context;
    add_record(set, sequence_options(models::HeadKind::question), std::move(record));
  }
  return set;
}

/// Which of three digits stands among the letters of the context.
inline ExampleSet choose_the_digit(int64_t count, uint64_t seed, int64_t length = 64, bool windows = false) {
  ExampleSet set;
  auto options = sequence_options(models::HeadKind::choice, length);
  options.windows = windows;
  Rng rng(seed);
  for (int64_t i = 0; i < count; ++i) {
    const std::string digits = "123";
    ChoiceRecord record{
        "q", random_letters(rng, 20, "abcdef"), {"1", "2", "3"}, static_cast<int64_t>(rng.below(3)), place(i + 1)};
    record.context[rng.below(20)] = digits[static_cast<std::size_t>(record.answer)];
    add_record(set, options, std::move(record));
  }
  return set;
}

/// One of eight letters, again and again: what is hidden stands all around.
inline ExampleSet repetitions(int64_t count, uint64_t seed) {
  ExampleSet set;
  Rng rng(seed);
  for (int64_t i = 0; i < count; ++i) {
    const std::string text(40, static_cast<char>('a' + rng.below(8)));
    add_record(set, sequence_options(models::HeadKind::masked_language), TextRecord{text, {}, place(i + 1)});
  }
  return set;
}

inline TaskOptions small_task(int64_t steps) {
  TaskOptions options;
  options.train.steps = steps;
  options.train.batch = 16;
  options.train.length = 64;
  options.train.learning_rate = 5e-3;
  options.train.warmup = 10;
  options.train.autocast = train::Autocast::none;
  return options;
}

inline double metric(const train::ValidationResult& result, const std::string& name) {
  for (const auto& [each, value] : result.metrics)
    if (each == name) return value;
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

}  // namespace longspan::tasks
