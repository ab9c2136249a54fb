#include "longspan/data/tokenizer_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"
#include "longspan/io/json.h"
#include "longspan/io/mapped_file.h"
#include "longspan/text/sentencepiece_tokenizer.h"
#include "longspan/text/subword/tokenizer_json.h"
#include "longspan/text/subword/vocabulary_files.h"

namespace longspan {

namespace {

std::string path_in(const std::string& folder, const char* name) { return folder + "/" + name; }

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string content_of(const std::string& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

/// A tokenizer.json: of the library `tokenizers`, of ranks, or a description.
std::unique_ptr<Tokenizer> load_json_tokenizer(const std::string& path) {
  std::string content = content_of(path);
  if (is_ranks_file(content)) return read_ranks_file(content, path);
  constexpr std::size_t kLongestDescription = 4096;
  if (content.size() > kLongestDescription || content.find("\"tokenizer\"") == std::string::npos)
    return read_tokenizer_json(std::move(content), path);
  return make_tokenizer(to_field_values(parse_json(content, path), path), path);
}

std::unique_ptr<Tokenizer> load_ranks(const std::string& path) {
  const std::string content = content_of(path);
  return read_ranks(content, known_ranks_of(path, content), path);
}

/// vocab.json and merges.txt, of which `path` is one or which lie in the folder `path`.
std::unique_ptr<Tokenizer> load_merges(const std::string& folder) {
  return read_merges(content_of(path_in(folder, kVocabularyFile)), content_of(path_in(folder, kMergesFile)), folder);
}

}  // namespace

void save_tokenizer(const std::string& folder, const Tokenizer& tokenizer) {
  const std::string model = tokenizer.model();
  const std::string name = model.empty() ? kTokenizerFile : tokenizer.model_file();
  if (model.empty()) {
    save_json(path_in(folder, kTokenizerFile), to_json(tokenizer.description()));
  } else {
    write_file(path_in(folder, name.c_str()), model);
  }
  std::error_code ignored;
  std::filesystem::remove(path_in(folder, name == kTokenizerFile ? kModelFile : kTokenizerFile), ignored);
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder) {
  const std::string path = path_in(folder, kTokenizerFile), model = path_in(folder, kModelFile);
  const bool has_model = exists(model);
  LONGSPAN_CHECK(!has_model || !exists(path), folder, ": holds two tokenizers, ", kTokenizerFile, " and ", kModelFile);
  if (has_model) return std::make_unique<SentencePieceTokenizer>(content_of(model), model);
  return load_json_tokenizer(path);
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name) {
  const std::vector<std::string> known = tokenizer_names();
  if (std::find(known.begin(), known.end(), name) != known.end())
    return make_tokenizer({{"tokenizer", name}}, "tokenizer");
  LONGSPAN_CHECK(exists(name), "tokenizer: expected bytes, the file of a tokenizer or a folder with one, got '", name,
                 "'");
  std::error_code ignored;
  if (std::filesystem::is_directory(name, ignored)) {
    if (exists(path_in(name, kTokenizerFile)) || exists(path_in(name, kModelFile))) return load_tokenizer(name);
    LONGSPAN_CHECK(exists(path_in(name, kVocabularyFile)) && exists(path_in(name, kMergesFile)), name,
                   ": holds no tokenizer: neither ", kTokenizerFile, " nor ", kModelFile, " nor ", kVocabularyFile,
                   " with ", kMergesFile);
    return load_merges(name);
  }
  const std::filesystem::path path(name);
  if (path.extension() == ".json" && path.filename() != kVocabularyFile) return load_json_tokenizer(name);
  if (path.extension() == ".tiktoken") return load_ranks(name);
  if (path.filename() == kVocabularyFile || path.filename() == kMergesFile)
    return load_merges(path.has_parent_path() ? path.parent_path().string() : ".");
  return std::make_unique<SentencePieceTokenizer>(content_of(name), name);
}

}  // namespace longspan
