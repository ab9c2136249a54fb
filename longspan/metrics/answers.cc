#include "longspan/metrics/answers.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "longspan/metrics/python_text.h"

namespace longspan::metrics {

namespace {

using internal::is_blank;
using internal::is_word_character;

bool is_ascii_punctuation(char32_t c) {
  return (c >= U'!' && c <= U'/') || (c >= U':' && c <= U'@') || (c >= U'[' && c <= U'`') || (c >= U'{' && c <= U'~');
}

bool is_quote(char32_t c) { return c == U'\u2018' || c == U'\u2019' || c == U'\u00B4'; }

std::u32string without_punctuation(const std::u32string& text, AnswerRules rules) {
  std::u32string out;
  for (const char32_t c : text) {
    const bool squad = rules == AnswerRules::squad;
    if (!is_ascii_punctuation(c) && (squad || !is_quote(c)))
      out += c;
    else if (!squad)
      out += U' ';
  }
  return out;
}

/// A blank for each of a, an and the that no letter or number touches.
std::u32string without_articles(const std::u32string& text) {
  std::u32string out;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && is_word_character(text[end])) ++end;
    const auto word = std::u32string_view(text).substr(begin, end - begin);
    const bool article = word == U"a" || word == U"an" || word == U"the";
    out += article ? std::u32string_view(U" ") : word;
    if (end < text.size()) out += text[end++];
    begin = end;
  }
  return out;
}

double word_f1(const std::vector<std::string>& predicted, const std::vector<std::string>& answer, AnswerRules rules) {
  if (predicted.empty() || answer.empty())
    return rules == AnswerRules::squad && predicted.empty() && answer.empty() ? 1 : 0;
  std::map<std::string, int64_t> left;
  for (const auto& word : answer) ++left[word];
  int64_t common = 0;
  for (const auto& word : predicted)
    if (left[word]-- > 0) ++common;
  return 2 * static_cast<double>(common) / static_cast<double>(predicted.size() + answer.size());
}

/// The right answers in words: those that count.
std::vector<std::vector<std::string>> right_answers(std::span<const std::string> answers, AnswerRules rules) {
  std::vector<std::vector<std::string>> out;
  for (const std::string& answer : answers)
    if (auto words = answer_words(answer, rules); !words.empty() || rules == AnswerRules::triviaqa)
      out.push_back(std::move(words));
  if (out.empty()) out.emplace_back();
  return out;
}

}  // namespace

std::vector<std::string> answer_words(std::string_view answer, AnswerRules rules) {
  const std::u32string text = without_articles(without_punctuation(internal::lower_case(answer), rules));
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && !is_blank(text[end])) ++end;
    if (end > begin) words.push_back(internal::utf8(std::u32string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return words;
}

std::string normalized_answer(std::string_view answer, AnswerRules rules) {
  std::string out;
  for (const auto& word : answer_words(answer, rules)) out += (out.empty() ? "" : " ") + word;
  return out;
}

double exact_match(std::string_view predicted, std::span<const std::string> answers, AnswerRules rules) {
  const auto given = answer_words(predicted, rules);
  return std::ranges::count(right_answers(answers, rules), given) > 0 ? 1 : 0;
}

double answer_f1(std::string_view predicted, std::span<const std::string> answers, AnswerRules rules) {
  const auto given = answer_words(predicted, rules);
  double best = 0;
  for (const auto& answer : right_answers(answers, rules)) best = std::max(best, word_f1(given, answer, rules));
  return best;
}

BestThreshold best_threshold(std::span<const DoubtedAnswer> answers) {
  if (answers.empty()) return {};
  // All are left out, and only questions without an answer are right; then they come back, the surest first.
  double sum = static_cast<double>(std::ranges::count_if(answers, [](const auto& a) { return !a.has_answer; }));
  BestThreshold best{sum, 0};
  std::vector<DoubtedAnswer> surest(answers.begin(), answers.end());
  std::ranges::stable_sort(surest, {}, &DoubtedAnswer::doubt);
  for (const DoubtedAnswer& answer : surest) {
    if (answer.has_answer)
      sum += answer.score;
    else if (!answer.is_empty)
      sum -= 1;
    if (sum > best.score) best = {sum, answer.doubt};
  }
  best.score /= static_cast<double>(answers.size());
  return best;
}

}  // namespace longspan::metrics
