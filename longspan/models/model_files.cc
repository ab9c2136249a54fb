#include "longspan/models/model_files.h"

#include <filesystem>
#include <system_error>

#include "longspan/data/tokenizer_file.h"
#include "longspan/io/atomic_file.h"
#include "longspan/models/tensor_files.h"

namespace longspan::models {

void save_weights(const std::string& path, const LanguageModel& model) {
  write_tensors(path, model.weights(), {{"format", "longspan.model.1"}});
}

void load_weights(const std::string& path, LanguageModel& model) {
  const SafetensorsFile file(path);
  const NamedTensors into = model.weights();
  check_tensors(file, into);
  read_into(file, into);
}

void save_model(const std::string& folder, const LanguageModel& model, const Tokenizer& tokenizer, const Json& extra) {
  LONGSPAN_CHECK(tokenizer.vocabulary_size() == model.config().vocabulary, folder, ": the tokenizer has ",
                 tokenizer.vocabulary_size(), " tokens, the model ", model.config().vocabulary);
  make_writable_folder(folder);
  Json config = Json::object();
  config["model"] = to_json(model.config());
  if (!extra.is_null())
    for (const auto& [name, value] : extra.items()) config[name] = value;
  save_json(folder + "/config.json", config);
  save_tokenizer(folder, tokenizer);
  save_weights(folder + "/model.safetensors", model);
}

LoadedModel load_model(const std::string& folder) {
  std::error_code unknown;
  LONGSPAN_CHECK(std::filesystem::is_directory(folder, unknown), folder, ": not a model: no such folder");
  LoadedModel out;
  out.config = load_json(folder + "/config.json");
  LONGSPAN_CHECK(out.config.is_object() && out.config.contains("model"), folder,
                 "/config.json: expected an object with the member 'model'");
  try {
    out.model = std::make_shared<LanguageModel>(config_from_json(out.config["model"]));
  } catch (const InputError& error) {
    throw InputError(str_cat(folder, "/config.json: ", error.what()));
  }
  out.tokenizer = load_tokenizer(folder);
  LONGSPAN_CHECK(out.tokenizer->vocabulary_size() == out.model->config().vocabulary, folder, ": the tokenizer has ",
                 out.tokenizer->vocabulary_size(), " tokens, the model ", out.model->config().vocabulary);
  load_weights(folder + "/model.safetensors", *out.model);
  out.model->eval();
  return out;
}

}  // namespace longspan::models
