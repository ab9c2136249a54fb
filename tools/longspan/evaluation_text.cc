#include "evaluation_text.h"

#include "interrupt.h"
#include "longspan/base/check.h"
#include "longspan/io/text_file.h"

namespace longspan::tool {

EvaluationText::EvaluationText(const std::string& flag, const std::string& path, const std::string& split,
                               const Tokenizer& tokenizer) {
  if (Dataset::is_dataset(path)) {
    dataset_.emplace(path);
    split_ = !split.empty() ? split : dataset_->has("test") ? "test" : "valid";
    LONGSPAN_CHECK(!split.empty() || dataset_->has(split_), flag, ": nothing was held out in the dataset '", path,
                   "'; ", flag == "--data" ? "--split train measures what it was trained on" : "name a text file");
    dataset_->split(split_);
    LONGSPAN_CHECK(dataset_->tokenizer().description() == tokenizer.description(), flag, ": '", path,
                   "' was made by another tokenizer than the model's");
    return;
  }
  LONGSPAN_CHECK(split.empty(), "--split: '", path, "' is not a dataset");
  LONGSPAN_CHECK(tokenizer.name() == "bytes", flag,
                 ": a plain file needs a byte model; prepare a dataset with the model's tokenizer '", tokenizer.name(),
                 "'");
  file_.emplace(map_text(path, stop_if_interrupted), TokenType::u8, tokenizer.vocabulary_size());
  LONGSPAN_CHECK(file_->size() > 0, flag, ": '", path, "' is empty");
}

int64_t EvaluationText::source_bytes(int64_t first, int64_t count) const {
  return dataset_ ? dataset_->source_bytes(split_, first, count) : count;
}

}  // namespace longspan::tool
