#include "longspan/train/checkpoint.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "longspan/io/atomic_file.h"
#include "longspan/models/model_files.h"
#include "longspan/train/adamw.h"
#include "longspan/train/carried_rows.h"
#include "longspan/train/checkpoint_store.h"
#include "longspan/train/distributed.h"
#include "longspan/train/train.h"

namespace longspan::train {

namespace {

constexpr const char* kFormat = "longspan.training.1";
constexpr const char* kValidationLoss = "validation_loss";

std::string file_in(const std::string& folder) { return folder + "/" + kTrainingFile; }

SafetensorsFile open(const std::string& folder) {
  SafetensorsFile file(file_in(folder));
  const std::string& format = file.metadata("format");
  LONGSPAN_CHECK(format == kFormat, file.path(), ": expected format ", kFormat, ", got ", format);
  return file;
}

int64_t integer(const SafetensorsFile& file, const std::string& key) {
  const std::string& text = file.metadata(key);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  LONGSPAN_CHECK(error == std::errc() && end == text.data() + text.size() && value >= 0, file.path(), ": ", key,
                 " must be a count, got '", text, "'");
  return value;
}

Json object(const SafetensorsFile& file, const std::string& key) {
  Json json = parse_json(file.metadata(key), file.path());
  LONGSPAN_CHECK(json.is_object(), file.path(), ": ", key, " must be an object, got ", json.type_name());
  return json;
}

CheckpointInfo info_of(const SafetensorsFile& file) {
  CheckpointInfo info;
  info.step = integer(file, "step");
  if (const auto at = file.metadata().find(kValidationLoss); at != file.metadata().end()) {
    double loss = 0;
    const auto [end, error] = std::from_chars(at->second.data(), at->second.data() + at->second.size(), loss);
    LONGSPAN_CHECK(error == std::errc() && end == at->second.data() + at->second.size() && std::isfinite(loss),
                   file.path(), ": ", kValidationLoss, " must be a number, got '", at->second, "'");
    info.validation_loss = loss;
  }
  return info;
}

/// The shortest text that reads back as the same number.
std::string exact_text(double value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// What `read` makes of the latest checkpoint of a folder that it accepts; what it said of later ones joins `refused`.
/// InputError, as of the latest, when it accepts none.
template <class Read>
auto read_latest(const std::string& folder, std::vector<std::string>& refused, const Read& read) {
  const auto checkpoints = find_checkpoints(folder);
  LONGSPAN_CHECK(!checkpoints.empty(), folder, ": there is no checkpoint to go on from");
  for (const auto& checkpoint : checkpoints) {
    try {
      return read(checkpoint.folder);
    } catch (const InputError& error) {
      refused.push_back(error.what());
    }
  }
  throw InputError(refused.front());
}

/// Fields whose value differs, as "name: before, now", for a person.
std::string differences(const Json& before, const Json& now) {
  std::string out;
  for (const auto& [name, value] : now.items())
    if (!before.contains(name) || before[name] != value)
      out += str_cat(out.empty() ? "" : ", ", name, " ", before.value(name, Json()).dump(), " -> ", value.dump());
  return out;
}

}  // namespace

models::NamedTensors Trainer::tensors() const {
  models::NamedTensors out = optimizer_->state();
  for (const auto& [name, tensor] : model_->weights()) out["weights." + name] = tensor;
  return out;
}

void Trainer::save(const std::string& folder, const Tokenizer& tokenizer, const Json& extra) const {
  if (writes()) make_writable_folder(folder);
  models::NamedTensors content = tensors();
  for (const auto& [name, rows] : reader_->state()) content[name] = peers_ ? peers_->gather_rows(rows) : rows;
  if (!writes()) return;
  content["generator"] = at::detail::getDefaultCPUGenerator().get_state();
  std::map<std::string, std::string> metadata = {{"format", kFormat},
                                                 {"step", std::to_string(step_)},
                                                 {"threads", std::to_string(at::get_num_threads())},
                                                 {"train_tokens", std::to_string(data_.train->size())},
                                                 {"model", models::to_json(model_->config()).dump()},
                                                 {"train", to_json(options_).dump()},
                                                 {"fingerprint", models::fingerprint(content)}};
  if (validation_ && validation_->step == step_) metadata[kValidationLoss] = exact_text(validation_->loss);
  models::write_tensors(file_in(folder), content, metadata);

  Json config = extra.is_null() ? Json::object() : extra;
  config["train"] = to_json(options_);
  models::save_model(folder, *model_, tokenizer, config);
}

std::vector<std::string> Trainer::resume(const std::string& folder) {
  std::vector<std::string> warnings;
  const auto more = read_latest(folder, warnings, [&](const std::string& checkpoint) { return load(checkpoint); });
  if (!warnings.empty()) warnings.push_back(str_cat("going on from step ", step_, " instead"));
  warnings.insert(warnings.end(), more.begin(), more.end());
  for (std::string& warning : warnings) warning.insert(0, "resume: ");
  return warnings;
}

std::vector<std::string> Trainer::load(const std::string& checkpoint) {
  const SafetensorsFile file = open(checkpoint);
  const std::string& path = file.path();
  const Json model = object(file, "model");
  LONGSPAN_CHECK(models::config_from_json(model) == model_->config(), path, ": another model (",
                 differences(model, models::to_json(model_->config())), ")");
  const CheckpointInfo info = info_of(file);
  const int64_t threads = integer(file, "threads");
  const int64_t train_tokens = integer(file, "train_tokens");
  const Json options = object(file, "train");

  models::NamedTensors into = tensors();
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  at::Tensor generator_state = generator.get_state();
  into["generator"] = generator_state;
  models::NamedTensors carried;  // a cache may be of any length
  for (const auto& [name, info] : file.tensors())
    if (name.starts_with(kCarried)) into[name] = carried[name] = models::read_tensor(file, name);
  models::check_tensors(file, into);
  models::NamedTensors content;
  for (const auto& [name, info] : file.tensors()) content[name] = models::read_tensor(file, name);
  LONGSPAN_CHECK(file.metadata("fingerprint") == models::fingerprint(content), path,
                 ": the content was altered after it was written");

  // Runs that carried nothing until now begin to from empty states; those that carry nothing any more leave them.
  if (!carried.empty() && options_.sequences == Sequences::carried) {
    for (auto& [name, rows] : carried) {
      LONGSPAN_CHECK(rows.dim() >= 1 && rows.size(0) == options_.batch, path, ": tensor '", name, "' is of ",
                     rows.dim() >= 1 ? rows.size(0) : 0, " rows, but batch is ", options_.batch);
      rows = rows.narrow(0, own_.first, own_.count);
    }
    reader_->set_state(carried, path);
  }
  models::read_into(file, into);
  generator.set_state(generator_state);
  step_ = info.step;
  validation_.reset();
  if (info.validation_loss) validation_ = ValidationResult{info.step, *info.validation_loss};

  std::vector<std::string> warnings;
  const auto warn = [&](const auto&... parts) { warnings.push_back(str_cat(parts...)); };
  if (threads != at::get_num_threads())
    warn("trained with ", threads, " threads, now ", at::get_num_threads(), ": the last bits will differ");
  if (train_tokens != data_.train->size())
    warn("the training data had ", train_tokens, " tokens, now ", data_.train->size());
  if (const std::string changed = differences(options, to_json(options_)); !changed.empty())
    warn("options changed: ", changed);
  return warnings;
}

CheckpointInfo checkpoint_info(const std::string& folder) { return info_of(open(folder)); }

bool is_resumable(const std::string& folder) { return !find_checkpoints(folder).empty(); }

Json saved_configuration(const std::string& folder) {
  std::vector<std::string> refused;
  return read_latest(folder, refused, [](const std::string& checkpoint) {
    const SafetensorsFile file = open(checkpoint);
    Json out = Json::object();
    out["model"] = object(file, "model");
    models::check_weights(file, models::config_from_json(out["model"]), "weights.");  // before a model is made of it
    out["train"] = object(file, "train");
    return out;
  });
}

}  // namespace longspan::train
