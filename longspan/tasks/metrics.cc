#include "longspan/tasks/metrics.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "longspan/base/check.h"

namespace longspan::tasks {

namespace {

bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

std::vector<std::string> words_of(std::string_view answer) {
  std::string plain;
  for (const char c : answer)
    if (!is_punctuation(c)) plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  std::vector<std::string> words;
  std::istringstream in(plain);
  for (std::string word; in >> word;)
    if (word != "a" && word != "an" && word != "the") words.push_back(word);
  return words;
}

double word_f1(const std::vector<std::string>& predicted, const std::vector<std::string>& answer) {
  if (predicted.empty() || answer.empty()) return predicted.empty() && answer.empty();
  std::map<std::string, int64_t> left;
  for (const auto& word : answer) ++left[word];
  int64_t common = 0;
  for (const auto& word : predicted)
    if (left[word]-- > 0) ++common;
  return 2 * static_cast<double>(common) / static_cast<double>(predicted.size() + answer.size());
}

}  // namespace

double LabelCounts::f1() const {
  const int64_t all = 2 * right + wrong + missing;
  return all > 0 ? 2 * static_cast<double>(right) / static_cast<double>(all) : 0;
}

std::vector<LabelCounts> count_labels(std::span<const std::vector<int64_t>> predicted,
                                      std::span<const std::vector<int64_t>> expected, int64_t labels) {
  LONGSPAN_CHECK(predicted.size() == expected.size(), "metrics: as many predictions as examples must be given, ",
                 expected.size(), ", got ", predicted.size());
  std::vector<LabelCounts> counts(static_cast<std::size_t>(labels));
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const auto has = [](const std::vector<int64_t>& of, int64_t label) { return std::ranges::count(of, label) > 0; };
    for (const int64_t label : predicted[i]) {
      auto& count = counts.at(static_cast<std::size_t>(label));
      ++(has(expected[i], label) ? count.right : count.wrong);
    }
    for (const int64_t label : expected[i])
      if (!has(predicted[i], label)) ++counts.at(static_cast<std::size_t>(label)).missing;
  }
  return counts;
}

double micro_f1(std::span<const LabelCounts> counts) {
  LabelCounts sum;
  for (const LabelCounts& each : counts) {
    sum.right += each.right;
    sum.wrong += each.wrong;
    sum.missing += each.missing;
  }
  return sum.f1();
}

double macro_f1(std::span<const LabelCounts> counts) {
  double sum = 0;
  int64_t seen = 0;
  for (const LabelCounts& each : counts) {
    if (each.right + each.wrong + each.missing == 0) continue;
    sum += each.f1();
    ++seen;
  }
  return seen > 0 ? sum / static_cast<double>(seen) : 0;
}

double exact_share(std::span<const std::vector<int64_t>> predicted, std::span<const std::vector<int64_t>> expected) {
  int64_t same = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (std::ranges::is_permutation(predicted[i], expected[i])) ++same;
  return expected.empty() ? 0 : static_cast<double>(same) / static_cast<double>(expected.size());
}

std::string normalized_answer(std::string_view answer) {
  std::string out;
  for (const auto& word : words_of(answer)) out += (out.empty() ? "" : " ") + word;
  return out;
}

double exact_match(std::string_view predicted, std::span<const std::string> answers) {
  const std::string given = normalized_answer(predicted);
  if (answers.empty()) return given.empty();
  return std::ranges::any_of(answers, [&](const std::string& answer) { return normalized_answer(answer) == given; });
}

double answer_f1(std::string_view predicted, std::span<const std::string> answers) {
  const auto given = words_of(predicted);
  if (answers.empty()) return given.empty();
  double best = 0;
  for (const std::string& answer : answers) best = std::max(best, word_f1(given, words_of(answer)));
  return best;
}

}  // namespace longspan::tasks
