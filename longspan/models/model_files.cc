#include "longspan/models/model_files.h"

#include <ATen/ops/empty.h>

#include <filesystem>
#include <system_error>

#include "longspan/data/tokenizer_file.h"
#include "longspan/io/atomic_file.h"
#include "longspan/models/blocks.h"
#include "longspan/models/tensor_files.h"
#include "longspan/nn/registry.h"

namespace longspan::models {

namespace {

void load_weights(const SafetensorsFile& file, LanguageModel& model) {
  const NamedTensors into = model.weights();
  check_tensors(file, into);
  read_into(file, into);
}

}  // namespace

void save_weights(const std::string& path, const LanguageModel& model) {
  write_tensors(path, model.weights(), {{"format", "longspan.model.1"}});
}

void load_weights(const std::string& path, LanguageModel& model) { load_weights(SafetensorsFile(path), model); }

InitialWeights init_weights(const std::string& folder, const Tokenizer& tokenizer, LanguageModel& model) {
  LONGSPAN_CHECK(load_tokenizer(folder)->description() == tokenizer.description(), folder,
                 ": has another tokenizer than the data");
  const SafetensorsFile file(folder + "/model.safetensors");
  NamedTensors into = model.weights();
  InitialWeights out;
  for (const auto& [name, tensor] : into)
    file.contains(name) ? check_tensor(file, name, tensor) : out.missing.push_back(name);
  for (const std::string& name : out.missing) into.erase(name);
  LONGSPAN_CHECK(!into.empty(), file.path(), ": has no weight of this model");
  for (const auto& [name, info] : file.tensors())
    if (!into.contains(name)) out.left_over.push_back(name);
  read_into(file, into);
  return out;
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

void check_weights(const SafetensorsFile& file, const ModelConfig& config, const std::string& prefix) {
  validate(config);
  const auto check = [&](const std::string& name, at::IntArrayRef sizes) {
    check_tensor(file, prefix + name, at::empty(sizes, at::TensorOptions().device(at::kMeta)));
  };
  check("embedding", {config.vocabulary, config.width});
  if (config.positions == Positions::learned) check("positions", {config.max_positions, config.width});
  if (!config.tied) check("head", {config.vocabulary, config.width});
  const auto block_name = [](int64_t layer) { return str_cat("blocks.", layer, "."); };
  check(block_name(config.layers - 1) + "feed_forward.up.weight", {config.feed_forward, config.width});
  // What a block has beside these is no larger than they are.
  check("blocks.0.attention.out.weight", {config.width, config.width});
  for (const auto& [name, sizes] :
       nn::find_attention(config.attention).tables(attention_sizes(config), config.attention_options))
    check("blocks.0.attention." + name, sizes);
  const Block block(config);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    for (const auto& item : block.named_parameters()) check(block_name(layer) + item.key(), item.value().sizes());
  }
}

LoadedModel load_model(const std::string& folder) {
  std::error_code unknown;
  LONGSPAN_CHECK(std::filesystem::is_directory(folder, unknown), folder, ": not a model: no such folder");
  LoadedModel out;
  out.config = load_json(folder + "/config.json");
  LONGSPAN_CHECK(out.config.is_object() && out.config.contains("model"), folder,
                 "/config.json: expected an object with the member 'model'");
  ModelConfig config;
  try {
    config = config_from_json(out.config["model"]);
    validate(config);
  } catch (const InputError& error) {
    throw InputError(str_cat(folder, "/config.json: ", error.what()));
  }
  out.tokenizer = load_tokenizer(folder);
  LONGSPAN_CHECK(out.tokenizer->vocabulary_size() == config.vocabulary, folder, ": the tokenizer has ",
                 out.tokenizer->vocabulary_size(), " tokens, the model ", config.vocabulary);
  const SafetensorsFile weights(folder + "/model.safetensors");
  check_weights(weights, config);
  out.model = std::make_shared<LanguageModel>(config);
  load_weights(weights, *out.model);
  out.model->eval();
  return out;
}

}  // namespace longspan::models
