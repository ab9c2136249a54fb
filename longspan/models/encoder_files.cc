#include "longspan/models/encoder_files.h"

#include <ATen/ops/empty.h>

#include "longspan/data/tokenizer_file.h"

namespace longspan::models {

namespace {

constexpr const char* kPositions = "encoder.positions";

/// Whether two heads say the same: the weights of another one mean something else.
bool same_head(const HeadConfig& a, const HeadConfig& b) { return a.kind == b.kind && a.labels == b.labels; }

/// The first rows of `table`, where the file has a shorter one of the same width.
at::Tensor fitting_rows(const SafetensorsFile& file, const at::Tensor& table) {
  if (!file.contains(kPositions)) return table;
  const auto& shape = file.at(kPositions).shape;
  const bool shorter = shape.size() == 2 && shape[1] == table.size(1) && shape[0] < table.size(0);
  return shorter ? table.detach().narrow(0, 0, shape[0]) : table;
}

}  // namespace

void check_vocabulary(const EncoderConfig& config, const Tokenizer& tokenizer, const std::string& owner) {
  const int64_t tokens = tokenizer.vocabulary_size();
  LONGSPAN_CHECK(config.vocabulary == tokens || config.vocabulary == tokens + kSpecialTokens, owner,
                 ": the tokenizer has ", tokens, " tokens, so that with or without ", kSpecialTokens,
                 " special ones the vocabulary must be ", tokens + kSpecialTokens, " or ", tokens, ", got ",
                 config.vocabulary);
}

void save_encoder(const std::string& folder, const EncoderModel& model, const Tokenizer& tokenizer, const Json& extra) {
  check_vocabulary(model.encoder_config(), tokenizer, folder);
  Json config = Json::object();
  config["encoder"] = to_json(model.encoder_config());
  config["head"] = to_json(model.head_config());
  if (!extra.is_null())
    for (const auto& [name, value] : extra.items()) config[name] = value;
  save_model_files(folder, config, model.weights(), tokenizer);
}

void check_weights(const SafetensorsFile& file, const EncoderConfig& encoder, const HeadConfig& head,
                   const std::string& prefix) {
  validate(encoder);
  validate(head);
  const auto check = [&](const std::string& name, at::IntArrayRef sizes) {
    check_tensor(file, prefix + name, at::empty(sizes, at::TensorOptions().device(at::kMeta)));
  };
  check("encoder.embedding", {encoder.vocabulary, encoder.width});
  if (encoder.positions == Positions::learned)
    check(kPositions, {encoder.max_positions + encoder.position_offset, encoder.width});
  switch (head.kind) {
    case HeadKind::masked_language:
      check("head.bias", {encoder.vocabulary});
      break;
    case HeadKind::classification:
    case HeadKind::multi_label:
      check("head.out.weight", {static_cast<int64_t>(head.labels.size()), encoder.width});
      break;
    case HeadKind::question:
      check("head.out.weight", {2, encoder.width});
      break;
    case HeadKind::choice:
      check("head.out.weight", {1, encoder.width});
      break;
  }
  check_blocks(file, block_options(encoder), prefix + "encoder.");
}

LoadedEncoder load_encoder(const std::string& folder) {
  LoadedEncoder out;
  out.config = model_config(folder, {"encoder", "head"});
  EncoderConfig encoder;
  HeadConfig head;
  try {
    encoder = encoder_from_json(out.config["encoder"]);
    head = head_from_json(out.config["head"]);
    validate(encoder);
    validate(head);
  } catch (const InputError& error) {
    throw InputError(str_cat(folder, "/config.json: ", error.what()));
  }
  out.tokenizer = load_tokenizer(folder);
  check_vocabulary(encoder, *out.tokenizer, folder);
  const SafetensorsFile weights(folder + "/model.safetensors");
  check_weights(weights, encoder, head);
  out.model = std::make_shared<EncoderModel>(encoder, head);
  const NamedTensors into = out.model->weights();
  check_tensors(weights, into);
  read_into(weights, into);
  out.model->eval();
  return out;
}

InitialWeights init_weights(const std::string& folder, const Tokenizer& tokenizer, EncoderModel& model) {
  NamedTensors into = model.weights();
  if (!same_head(head_from_json(model_config(folder, {"encoder", "head"})["head"]), model.head_config()))
    std::erase_if(into, [](const auto& item) { return item.first.starts_with("head."); });
  const SafetensorsFile file(folder + "/model.safetensors");
  if (const auto positions = into.find(kPositions); positions != into.end())
    positions->second = fitting_rows(file, positions->second);
  InitialWeights out = init_weights(folder, tokenizer, into);
  for (const auto& [name, tensor] : model.weights())
    if (!into.contains(name)) out.missing.push_back(name);
  return out;
}

}  // namespace longspan::models
