#include "longspan/data/tokenizer_file.h"

#include "longspan/io/json.h"

namespace longspan {

namespace {
std::string path_in(const std::string& folder) { return folder + "/" + kTokenizerFile; }
}  // namespace

void save_tokenizer(const std::string& folder, const Tokenizer& tokenizer) {
  save_json(path_in(folder), to_json(tokenizer.description()));
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder) {
  const std::string path = path_in(folder);
  return make_tokenizer(to_field_values(load_json(path), path), path);
}

}  // namespace longspan
