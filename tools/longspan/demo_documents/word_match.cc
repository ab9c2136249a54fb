#include "word_match.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include "bag_of_words.h"
#include "longspan/metrics/answers.h"

namespace longspan::tool {

namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const std::size_t first = text.substr(0, end).find_first_not_of(' '); first != std::string_view::npos)
      lines.push_back(text.substr(first, end - first));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::string word_match(const QuestionRecord& question) {
  const std::vector<std::string> asked_words = words_of(question.question);
  const std::set<std::string> asked(asked_words.begin(), asked_words.end());
  const std::vector<std::string_view> lines = lines_of(question.context);
  std::size_t best = 0;
  double best_score = 0;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    const std::vector<std::string> words = words_of(lines[i]);
    const auto common = std::count_if(asked.begin(), asked.end(), [&](const std::string& word) {
      return std::find(words.begin(), words.end(), word) != words.end();
    });
    const double score = words.empty() ? 0 : static_cast<double>(common) / std::sqrt(static_cast<double>(words.size()));
    if (score <= best_score) continue;
    best_score = score;
    best = i;
  }
  if (best_score == 0) return "";
  const std::string_view next = lines[best + 1];
  const std::size_t end = next.find(". ");
  return std::string(next.substr(0, end == std::string_view::npos ? end : end + 1));
}

double word_match_f1(std::span<const QuestionRecord> questions) {
  double sum = 0;
  for (const QuestionRecord& question : questions) {
    std::vector<std::string> right;
    for (const AnswerSpan& answer : question.answers)
      right.push_back(question.context.substr(static_cast<std::size_t>(answer.begin),
                                              static_cast<std::size_t>(answer.end - answer.begin)));
    sum += metrics::answer_f1(word_match(question), right);
  }
  return questions.empty() ? 0 : sum / static_cast<double>(questions.size());
}

}  // namespace longspan::tool
