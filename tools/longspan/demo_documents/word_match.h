// The yardstick of extractive questions: looking for the words of the question.
#pragma once

#include <span>
#include <string>

#include "longspan/data/records.h"

namespace longspan::tool {

/// The first sentence behind the line that shares most with the question: words in common divided by the root of the
/// line's number of words, the first of equals.
std::string word_match(const QuestionRecord& question);

/// Mean F1 of word_match() over the questions, as metrics::answer_f1() counts it; 0 for none.
double word_match_f1(std::span<const QuestionRecord> questions);

}  // namespace longspan::tool
