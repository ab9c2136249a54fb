#include "longspan/data/tokenizer_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"
#include "longspan/io/json.h"
#include "longspan/io/mapped_file.h"
#include "longspan/text/sentencepiece_tokenizer.h"

namespace longspan {

namespace {

std::string path_in(const std::string& folder, const char* name) { return folder + "/" + name; }

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::unique_ptr<Tokenizer> load_model(const std::string& path) {
  const MappedFile file(path);
  return std::make_unique<SentencePieceTokenizer>(
      std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()), path);
}

}  // namespace

void save_tokenizer(const std::string& folder, const Tokenizer& tokenizer) {
  const std::string model = tokenizer.model();
  if (model.empty()) {
    save_json(path_in(folder, kTokenizerFile), to_json(tokenizer.description()));
  } else {
    AtomicFile file(path_in(folder, kModelFile));
    file.write(model);
    file.commit();
  }
  std::error_code ignored;
  std::filesystem::remove(path_in(folder, model.empty() ? kModelFile : kTokenizerFile), ignored);
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder) {
  const std::string path = path_in(folder, kTokenizerFile), model = path_in(folder, kModelFile);
  const bool has_model = exists(model);
  LONGSPAN_CHECK(!has_model || !exists(path), folder, ": holds two tokenizers, ", kTokenizerFile, " and ", kModelFile);
  if (has_model) return load_model(model);
  return make_tokenizer(to_field_values(load_json(path), path), path);
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name) {
  const std::vector<std::string> known = tokenizer_names();
  if (std::find(known.begin(), known.end(), name) != known.end())
    return make_tokenizer({{"tokenizer", name}}, "tokenizer");
  LONGSPAN_CHECK(exists(name), "tokenizer: expected bytes or the file of a SentencePiece model, got '", name, "'");
  return load_model(name);
}

}  // namespace longspan
