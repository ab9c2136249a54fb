// Rows of the tasks `recall` and `copy`: facts that stand at the beginning of a row and are asked for later in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "longspan/base/fields.h"
#include "longspan/io/json.h"

namespace longspan {

/// recall: many facts of one value each (multi-query associative recall; Arora et al., "Zoology", 2023). copy: one fact
/// of several values.
enum class RecallTask { recall, copy };

struct RecallOptions {
  RecallTask task = RecallTask::recall;
  int64_t pairs = 32;    ///< most facts of a row in training (copy: always one)
  int64_t keys = 128;    ///< tokens that name a fact
  int64_t values = 0;    ///< tokens that facts are made of, 0 = 128, copy 256: a byte
  int64_t fact = 0;      ///< values of a fact, 0 = 1, copy 8
  int64_t fillers = 64;  ///< tokens that say nothing
  int64_t stages = 3;    ///< of training: the rows of a stage are twice as long as those of the one before
};
const FieldTable<RecallOptions>& recall_fields();

/// With what 0 stands for written out. InputError for a value out of range, and for more pairs than keys.
RecallOptions resolved(RecallOptions options);
Json to_json(const RecallOptions& options);
/// Sets the named fields; an unknown one is an InputError with the nearest known name.
void merge_json(RecallOptions& options, const Json& json);

/// Tokens: keys from 0, values behind them, then fillers. Options here and below: resolved().
int64_t recall_vocabulary(const RecallOptions& options);

/// One token as text: "k5", "v17", "f3".
std::string recall_word(const RecallOptions& options, int64_t token);

/// What a row is like.
struct RecallShape {
  int64_t length = 0;  ///< n: tokens that a model reads; the row has one more, the last target
  int64_t pairs = 0;   ///< K
  int64_t span = 0;    ///< the questions stand in so many last tokens of the row; 0: anywhere behind the facts
};

/// A fact is its key and then its values. The row begins with `pairs` facts of different keys; their values are drawn
/// one by one. Then come fillers, and questions between them: each is a fact shown, told once more, so that its values
/// are the right answers. Which is asked and where is uniform; none is asked twice. As many are asked as there is room
/// for within `span`, at most all.
struct RecallRow {
  std::vector<int64_t> tokens;     ///< [length + 1]
  std::vector<int64_t> questions;  ///< ascending places p whose next token, tokens[p + 1], is to be known
};

/// Which rows: those of training, those that learning rates and the like are chosen by, those of the results. No row
/// of one is drawn from numbers of another.
enum class RecallSplit : uint64_t { train = 1, valid = 2, test = 3 };

/// Row `number` of what (seed, split, stream) stands for: the same everywhere, whatever else is made. InputError when
/// the facts and one question have no room in the row, or in the vocabulary.
RecallRow recall_row(const RecallOptions& options, const RecallShape& shape, RecallSplit split, uint64_t seed,
                     uint64_t stream, uint64_t number);

/// Questions of a row of this shape, in values to be known: recall_row(...).questions.size().
int64_t recall_questions(const RecallOptions& options, const RecallShape& shape);

/// The shape of a row of training, n = `length`: K uniform from 1 to options.pairs, but never more than can all be
/// asked. InputError when there is no room for one.
RecallShape training_shape(const RecallOptions& options, int64_t length, RecallSplit split, uint64_t seed,
                           uint64_t stream, uint64_t number);

/// The shape that results are measured at. recall: rows of `length` tokens with the questions in the last `span`.
/// copy: `length` is the distance D, tokens between the fact and the question about it, which ends the row.
RecallShape measured_shape(const RecallOptions& options, int64_t pairs, int64_t length, int64_t span);

/// Row length of training step `step` (from 0) of `steps`: `length` in the last stage, half as much in the one before;
/// stages are equally long. InputError unless length is a multiple of 2^(stages - 1).
int64_t stage_length(const RecallOptions& options, int64_t length, int64_t step, int64_t steps);

}  // namespace longspan
