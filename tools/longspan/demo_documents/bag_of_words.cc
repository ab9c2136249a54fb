#include "bag_of_words.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "longspan/base/rng.h"

namespace longspan::tool {

namespace {

constexpr int kEpochs = 20;
constexpr double kLearningRate = 0.5;
/// A word of fewer documents tells nothing about others.
constexpr int64_t kLeastDocuments = 2;

enum class Kind { none, ascii, other };

Kind kind_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x80) return Kind::other;
  const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
  return letter ? Kind::ascii : Kind::none;
}

/// Probabilities of the scores, in place.
void softmax(std::vector<double>& scores) {
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - most);
  for (double& score : scores) score /= sum;
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  Kind last = Kind::none;
  for (const char c : text) {
    const Kind kind = kind_of(c);
    if (kind != Kind::none && kind != last) words.emplace_back();
    if (kind != Kind::none) words.back() += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    last = kind;
  }
  return words;
}

BagOfWords::BagOfWords(std::span<const TextRecord> train, std::span<const TextRecord> valid, const LabelSet& labels)
    : labels_(labels) {
  std::map<std::string, int64_t> documents;  // in order, so that numbers do not depend on hashing
  for (const TextRecord& record : train) {
    const std::vector<std::string> words = words_of(record.text);
    for (const std::string& word : std::set<std::string>(words.begin(), words.end())) ++documents[word];
  }
  for (const auto& [word, count] : documents)
    if (count >= kLeastDocuments)
      words_.emplace(word, Word{static_cast<int64_t>(words_.size()),
                                std::log(static_cast<double>(1 + train.size()) / static_cast<double>(1 + count)) + 1});
  biases_.resize(static_cast<std::size_t>(labels_.size()));
  weights_.resize(words_.size() * biases_.size());
  fit(bags_of(train), bags_of(valid));
}

BagOfWords::Bag BagOfWords::bag_of(std::string_view text) const {
  std::map<int64_t, std::pair<int64_t, double>> counts;  // number -> count, rarity
  for (const std::string& word : words_of(text))
    if (const auto known = words_.find(word); known != words_.end()) {
      auto& [count, rarity] = counts[known->second.number];
      ++count;
      rarity = known->second.rarity;
    }
  Bag bag;
  double squares = 0;
  for (const auto& [number, entry] : counts) {
    const double value = (1 + std::log(static_cast<double>(entry.first))) * entry.second;
    squares += value * value;
    bag.words.emplace_back(number, static_cast<float>(value));
  }
  for (auto& [number, value] : bag.words) value = static_cast<float>(value / std::sqrt(squares));
  return bag;
}

std::vector<BagOfWords::Bag> BagOfWords::bags_of(std::span<const TextRecord> records) const {
  std::vector<Bag> bags;
  for (const TextRecord& record : records) {
    bags.push_back(bag_of(record.text));
    bags.back().label = labels_.index(record.labels.at(0), record.place);
  }
  return bags;
}

int64_t BagOfWords::predict(const Bag& bag) const {
  std::vector<double> scores(biases_.begin(), biases_.end());
  for (const auto& [number, value] : bag.words)
    for (std::size_t k = 0; k < scores.size(); ++k)
      scores[k] += value * weights_[static_cast<std::size_t>(number) * scores.size() + k];
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

int64_t BagOfWords::predict(std::string_view text) const { return predict(bag_of(text)); }

double BagOfWords::accuracy(const std::vector<Bag>& bags) const {
  const auto right = std::count_if(bags.begin(), bags.end(), [&](const Bag& bag) { return predict(bag) == bag.label; });
  return bags.empty() ? 0 : static_cast<double>(right) / static_cast<double>(bags.size());
}

double BagOfWords::accuracy(std::span<const TextRecord> records) const { return accuracy(bags_of(records)); }

void BagOfWords::fit(const std::vector<Bag>& train, const std::vector<Bag>& valid) {
  const std::size_t classes = biases_.size();
  std::vector<float> squares(weights_.size(), 1e-6f), bias_squares(classes, 1e-6f);
  const auto move = [](float& weight, float& sum, double gradient) {
    sum += static_cast<float>(gradient * gradient);
    weight -= static_cast<float>(kLearningRate * gradient / std::sqrt(sum));
  };
  std::vector<std::size_t> order(train.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  double best = -1;
  std::vector<float> best_weights, best_biases;
  Rng rng(0);
  std::vector<double> scores(classes);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    for (const std::size_t document : order) {
      const Bag& bag = train[document];
      std::copy(biases_.begin(), biases_.end(), scores.begin());
      for (const auto& [number, value] : bag.words)
        for (std::size_t k = 0; k < classes; ++k)
          scores[k] += value * weights_[static_cast<std::size_t>(number) * classes + k];
      softmax(scores);
      scores[static_cast<std::size_t>(bag.label)] -= 1;  // the gradient of the loss
      for (std::size_t k = 0; k < classes; ++k) move(biases_[k], bias_squares[k], scores[k]);
      for (const auto& [number, value] : bag.words)
        for (std::size_t k = 0; k < classes; ++k) {
          const std::size_t at = static_cast<std::size_t>(number) * classes + k;
          move(weights_[at], squares[at], scores[k] * value);
        }
    }
    if (const double now = accuracy(valid); now > best) {
      best = now;
      best_weights = weights_;
      best_biases = biases_;
    }
  }
  weights_ = std::move(best_weights);
  biases_ = std::move(best_biases);
}

}  // namespace longspan::tool
