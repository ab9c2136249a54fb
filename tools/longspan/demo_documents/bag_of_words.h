// The yardstick of a task on documents: what their words tell without any order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "longspan/data/label_set.h"
#include "longspan/data/records.h"

namespace longspan::tool {

/// The words of a text: runs of ASCII letters and digits in small letters and of other characters of UTF-8.
std::vector<std::string> words_of(std::string_view text);

/// Multinomial logistic regression on the logarithm of word counts, weighted by inverse document frequency (Salton and
/// Buckley, "Term-weighting approaches in automatic text retrieval", 1988) and of length 1 as a vector. Fitted by
/// AdaGrad (Duchi, Hazan and Singer, 2011), one document at a time; the epoch that is best on `valid` counts, the first
/// of equals. The same records give the same numbers.
class BagOfWords {
 public:
  /// Every record has one label, which is in `labels`.
  BagOfWords(std::span<const TextRecord> train, std::span<const TextRecord> valid, const LabelSet& labels);

  /// The most likely class; of equals the first.
  int64_t predict(std::string_view text) const;
  /// Part of the records that are predicted right.
  double accuracy(std::span<const TextRecord> records) const;
  /// Different words that are looked at.
  int64_t vocabulary() const { return static_cast<int64_t>(words_.size()); }

 private:
  struct Word {
    int64_t number = 0;
    double rarity = 0;  ///< logarithm of the inverse document frequency
  };
  struct Bag {
    std::vector<std::pair<int64_t, float>> words;  ///< number and value
    int64_t label = 0;
  };
  Bag bag_of(std::string_view text) const;
  std::vector<Bag> bags_of(std::span<const TextRecord> records) const;
  int64_t predict(const Bag& bag) const;
  double accuracy(const std::vector<Bag>& bags) const;
  void fit(const std::vector<Bag>& train, const std::vector<Bag>& valid);

  const LabelSet labels_;
  std::unordered_map<std::string, Word> words_;
  std::vector<float> weights_;  ///< [words, classes]
  std::vector<float> biases_;   ///< [classes]
};

}  // namespace longspan::tool
