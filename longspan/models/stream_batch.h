// Many streams at once: they join, read, rest and leave as they like.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "longspan/models/language_model.h"

namespace longspan::models {

/// Streams of one model, each with its own state. step() reads new tokens of any of them, different numbers too, in one
/// pass; a stream that gets none rests and costs nothing. Each stream's results equal those of the stream alone within
/// rounding; they are equal bit for bit as far as the model's parts are (docs/streaming.md).
///
/// A value: a copy goes on by itself. Streams that read together step after step keep one batched state; only when
/// others join or some rest are rows moved.
class StreamBatch {
 public:
  using Id = int64_t;

  /// A stream joins: `state` of one stream, fresh (LanguageModel::begin(1)) or one that has read something. Ids count
  /// from 0 and are not used again. InputError for a state of more than one stream.
  Id add(ModelState state);
  /// The stream leaves; its state. InputError for an unknown id.
  ModelState remove(Id id);

  bool contains(Id id) const;
  int64_t size() const { return static_cast<int64_t>(ids_.size() + resting_.size()); }
  /// Tokens that the stream has read. InputError for an unknown id.
  int64_t position(Id id) const;
  /// Of all states.
  int64_t bytes() const;

  struct Input {
    Id id;
    std::span<const int64_t> tokens;
  };
  /// Reads and returns the hidden states [n, E] of every input's n tokens, in the order of `inputs`; without gradients.
  /// InputError for an unknown id, one that stands twice, or a token outside the vocabulary; nothing is read then.
  /// Memory: batch times the longest input.
  std::vector<at::Tensor> step(LanguageModel& model, const std::vector<Input>& inputs);

 private:
  int64_t row_of(Id id) const;  ///< in rows_, -1 for one that rests or is unknown
  void check_known(Id id) const;
  void arrange(const std::vector<Id>& active);

  std::vector<Id> ids_;  ///< of the rows, in order
  ModelState rows_;      ///< of the streams that read in the last step
  std::map<Id, ModelState> resting_;
  Id next_ = 0;
};

}  // namespace longspan::models
