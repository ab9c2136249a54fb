#include "longspan/tasks/answer_metrics.h"

#include <map>
#include <utility>

#include "longspan/metrics/answers.h"

namespace longspan::tasks {

namespace {

/// Answers of one question, as one.
std::vector<JudgedAnswer> one_of_each(std::vector<JudgedAnswer> answers) {
  std::vector<JudgedAnswer> out;
  std::map<std::string, std::size_t> place;
  for (JudgedAnswer& each : answers) {
    const auto [at, is_new] = place.emplace(each.id, out.size());
    if (each.id.empty() || is_new) {
      out.push_back(std::move(each));
      continue;
    }
    JudgedAnswer& known = out[at->second];
    known.right.insert(known.right.end(), each.right.begin(), each.right.end());
    const Answer &one = known.prediction.answer, &other = each.prediction.answer;
    if (one.text.empty() != other.text.empty() ? one.text.empty() : other.score > one.score)
      known.prediction = std::move(each.prediction);
  }
  return out;
}

class Mean {
 public:
  void add(double value) {
    sum_ += value;
    ++count_;
  }
  double value() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0; }
  bool any() const { return count_ > 0; }

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};

}  // namespace

metrics::Metrics answer_metrics(std::vector<JudgedAnswer> answers) {
  Mean exact, f1, trivia_exact, trivia_f1, has_exact, has_f1, none_exact;
  std::vector<metrics::DoubtedAnswer> doubted;
  bool weighed = false;
  for (const JudgedAnswer& each : one_of_each(std::move(answers))) {
    const Prediction& prediction = each.prediction;
    const std::string& text = prediction.answer.text;
    const double e = metrics::exact_match(text, each.right), f = metrics::answer_f1(text, each.right);
    exact.add(e);
    f1.add(f);
    trivia_exact.add(metrics::exact_match(text, each.right, metrics::AnswerRules::triviaqa));
    trivia_f1.add(metrics::answer_f1(text, each.right, metrics::AnswerRules::triviaqa));
    // As the scorer of SQuAD 2.0 sees it: an answer without words is none.
    const bool has_answer = metrics::exact_match("", each.right) == 0;
    (has_answer ? has_exact : none_exact).add(e);
    if (has_answer) has_f1.add(f);
    const std::string best = prediction.best.empty() ? "" : prediction.best.front().text;
    weighed |= prediction.no_answer_score.has_value();
    doubted.push_back(
        {metrics::answer_f1(best, each.right), has_answer, best.empty(), prediction.no_answer_score.value_or(0)});
  }
  metrics::Metrics out = {{"exact_match", exact.value()}, {"f1", f1.value()}};
  if (none_exact.any()) {
    out.emplace_back("has_answer_exact_match", has_exact.value());
    out.emplace_back("has_answer_f1", has_f1.value());
    out.emplace_back("no_answer_exact_match", none_exact.value());
  } else {
    out.emplace_back("triviaqa_exact_match", trivia_exact.value());
    out.emplace_back("triviaqa_f1", trivia_f1.value());
  }
  if (weighed) {
    const metrics::BestThreshold best = metrics::best_threshold(doubted);
    out.emplace_back("best_f1", best.score);
    out.emplace_back("best_f1_threshold", best.doubt);
  }
  return out;
}

}  // namespace longspan::tasks
