#include "evaluation_text.h"

#include "longspan/base/check.h"

namespace longspan::tool {

EvaluationText::EvaluationText(const std::string& flag, const std::string& path, const std::string& split,
                               const Tokenizer& tokenizer) {
  if (Dataset::is_dataset(path)) {
    dataset_.emplace(path);
    split_ = !split.empty() ? split : dataset_->has("test") ? "test" : "valid";
    dataset_->split(split_);
    LONGSPAN_CHECK(dataset_->tokenizer().description() == tokenizer.description(), flag, ": '", path,
                   "' was made by another tokenizer than the model's");
    return;
  }
  LONGSPAN_CHECK(split.empty(), "--split: '", path, "' is not a dataset");
  LONGSPAN_CHECK(tokenizer.name() == "bytes", flag,
                 ": a plain file needs a byte model; prepare a dataset with the model's tokenizer '", tokenizer.name(),
                 "'");
  file_.emplace(path, TokenType::u8, tokenizer.vocabulary_size());
  LONGSPAN_CHECK(file_->size() > 0, flag, ": '", path, "' is empty");
}

int64_t EvaluationText::source_bytes(int64_t first, int64_t count) const {
  return dataset_ ? dataset_->source_bytes(split_, first, count) : count;
}

}  // namespace longspan::tool
