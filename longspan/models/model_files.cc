#include "longspan/models/model_files.h"

#include <ATen/ops/empty.h>

#include <filesystem>
#include <system_error>

#include "longspan/data/tokenizer_file.h"
#include "longspan/io/atomic_file.h"
#include "longspan/models/blocks.h"
#include "longspan/models/tensor_files.h"
#include "longspan/nn/given_buffers.h"
#include "longspan/nn/registry.h"

namespace longspan::models {

namespace {

constexpr const char* kFormat = "longspan.model.1";

void load_weights(const SafetensorsFile& file, LanguageModel& model) {
  const NamedTensors into = model.weights();
  check_tensors(file, into);
  read_into(file, into);
}

}  // namespace

void save_weights(const std::string& path, const LanguageModel& model) {
  write_tensors(path, model.weights(), {{"format", kFormat}});
}

void load_weights(const std::string& path, LanguageModel& model) { load_weights(SafetensorsFile(path), model); }

InitialWeights init_weights(const std::string& folder, const Tokenizer& tokenizer, NamedTensors into) {
  LONGSPAN_CHECK(load_tokenizer(folder)->description() == tokenizer.description(), folder,
                 ": has another tokenizer than the data");
  const SafetensorsFile file(folder + "/model.safetensors");
  InitialWeights out;
  const auto given = [](const std::string& name) { return name.find(str_cat(".", nn::kGivenBuffer)) != name.npos; };
  std::erase_if(into, [&](const auto& item) { return given(item.first); });
  for (const auto& [name, tensor] : into)
    file.contains(name) ? check_tensor(file, name, tensor) : out.missing.push_back(name);
  for (const std::string& name : out.missing) into.erase(name);
  LONGSPAN_CHECK(!into.empty(), file.path(), ": has no weight of this model");
  for (const auto& [name, info] : file.tensors())
    if (!into.contains(name) && !given(name)) out.left_over.push_back(name);
  read_into(file, into);
  return out;
}

InitialWeights init_weights(const std::string& folder, const Tokenizer& tokenizer, LanguageModel& model) {
  return init_weights(folder, tokenizer, model.weights());
}

void save_model_files(const std::string& folder, const Json& config, const NamedTensors& weights,
                      const Tokenizer& tokenizer) {
  make_writable_folder(folder);
  save_json(folder + "/config.json", config);
  save_tokenizer(folder, tokenizer);
  write_tensors(folder + "/model.safetensors", weights, {{"format", kFormat}});
}

void save_model(const std::string& folder, const LanguageModel& model, const Tokenizer& tokenizer, const Json& extra) {
  LONGSPAN_CHECK(tokenizer.vocabulary_size() == model.config().vocabulary, folder, ": the tokenizer has ",
                 tokenizer.vocabulary_size(), " tokens, the model ", model.config().vocabulary);
  Json config = Json::object();
  config["model"] = to_json(model.config());
  if (!extra.is_null())
    for (const auto& [name, value] : extra.items()) config[name] = value;
  save_model_files(folder, config, model.weights(), tokenizer);
}

void check_blocks(const SafetensorsFile& file, const BlockOptions& options, const std::string& prefix) {
  const auto check = [&](const std::string& name, at::IntArrayRef sizes) {
    check_tensor(file, prefix + name, at::empty(sizes, at::TensorOptions().device(at::kMeta)));
  };
  const auto block_name = [](int64_t layer) { return str_cat("blocks.", layer, "."); };
  const int64_t width = options.sizes.width;
  check(block_name(options.layers - 1) + "feed_forward.up.weight", {options.feed_forward, width});
  // What a block has beside these is no larger than they are.
  const auto tables = nn::find_attention(options.attention).tables(options.sizes, options.attention_options);
  if (!tables.contains("out.weight")) check("blocks.0.attention.out.weight", {width, width});
  for (const auto& [name, tensor] : tables) check_tensor(file, str_cat(prefix, "blocks.0.attention.", name), tensor);
  const Block block(options);
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    for (const auto& item : block.named_parameters()) check(block_name(layer) + item.key(), item.value().sizes());
  }
}

void check_weights(const SafetensorsFile& file, const ModelConfig& config, const std::string& prefix) {
  validate(config);
  const auto check = [&](const std::string& name, at::IntArrayRef sizes) {
    check_tensor(file, prefix + name, at::empty(sizes, at::TensorOptions().device(at::kMeta)));
  };
  check("embedding", {config.vocabulary, config.width});
  if (config.positions == Positions::learned) check("positions", {config.max_positions, config.width});
  if (!config.tied) check("head", {config.vocabulary, config.width});
  check_blocks(file, block_options(config), prefix);
}

Json model_config(const std::string& folder, const std::vector<std::string>& members) {
  std::error_code unknown;
  LONGSPAN_CHECK(std::filesystem::is_directory(folder, unknown), folder, ": not a model: no such folder");
  Json config = load_json(folder + "/config.json");
  for (const std::string& member : members)
    LONGSPAN_CHECK(config.is_object() && config.contains(member), folder,
                   "/config.json: expected an object with the member '", member, "'");
  return config;
}

LoadedModel load_model(const std::string& folder) {
  LoadedModel out;
  out.config = model_config(folder, {"model"});
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
