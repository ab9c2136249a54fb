// How good an answer is, by the definitions of the public scorers of SQuAD and TriviaQA.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longspan::metrics {

/// What two answers are compared by. Both: lower case; the words a, an and the are left out; one space between words.
enum class AnswerRules {
  squad,     ///< Rajpurkar et al., 2016 and 2018: punctuation of ASCII is left out, so that "well-known" is one word
  triviaqa,  ///< Joshi et al., 2017: punctuation of ASCII and ‘ ’ ´ ` are blanks, and "well-known" is two
};

/// The answer in words, and these with one space between them. Case, words and blanks are those of Unicode, as Python
/// has them (python_text.h).
std::vector<std::string> answer_words(std::string_view answer, AnswerRules rules = AnswerRules::squad);
std::string normalized_answer(std::string_view answer, AnswerRules rules = AnswerRules::squad);

/// 1 or 0: whether a predicted answer equals one of the right ones, both normalised. By the rules of SQuAD, right
/// answers without a word do not count; where that leaves none, or none was given, the empty answer is right.
double exact_match(std::string_view predicted, std::span<const std::string> answers,
                   AnswerRules rules = AnswerRules::squad);
/// The best harmonic mean of precision and recall of the words, over the right answers; a word counts as often as it
/// stands. Where one of the two has no words: by the rules of SQuAD 1 if both have none, else 0; by those of TriviaQA
/// 0.
double answer_f1(std::string_view predicted, std::span<const std::string> answers,
                 AnswerRules rules = AnswerRules::squad);

/// What is known of a question when answers that the model doubts are left out.
struct DoubtedAnswer {
  double score = 0;         ///< exact_match or answer_f1 of the answer given, were it not left out
  bool has_answer = false;  ///< there is a right answer other than the empty one
  bool is_empty = false;    ///< the answer given is empty anyway
  double doubt = 0;         ///< the larger, the sooner it is left out
};
struct BestThreshold {
  double score = 0;  ///< mean
  double doubt = 0;  ///< answers with a larger one are left out
};
/// The threshold with the best mean, in hindsight, as SQuAD 2.0 reports it ("best_f1"). Of equals the lowest; with
/// every answer left out, 0. Zeros for no answers.
BestThreshold best_threshold(std::span<const DoubtedAnswer> answers);

}  // namespace longspan::metrics
