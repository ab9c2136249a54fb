// What a model is evaluated on: a split of a dataset, or a plain text file.
#pragma once

#include <optional>
#include <string>

#include "longspan/data/dataset.h"
#include "longspan/data/token_file.h"
#include "longspan/text/tokenizer.h"

namespace longspan::tool {

class EvaluationText {
 public:
  /// `path`, the value of the flag `flag`, is a dataset (its split `split`; "" = test, or valid where nothing was held
  /// out) or a file, packed or not, that `tokenizer` reads byte by byte. Throws InputError when it is missing or empty,
  /// and for a dataset of another tokenizer.
  EvaluationText(const std::string& flag, const std::string& path, const std::string& split,
                 const Tokenizer& tokenizer);

  const TokenFile& tokens() const { return dataset_ ? dataset_->split(split_) : *file_; }
  /// Of tokens [first, first + count).
  int64_t source_bytes(int64_t first, int64_t count) const;

 private:
  std::optional<Dataset> dataset_;
  std::string split_;
  std::optional<TokenFile> file_;
};

}  // namespace longspan::tool
