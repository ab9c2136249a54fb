#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>

#include "longspan/io/atomic_file.h"
#include "longspan/models/model_files.h"
#include "longspan/train/adamw.h"
#include "longspan/train/carried_rows.h"
#include "longspan/train/checkpoint_file.h"
#include "longspan/train/data_identity.h"
#include "longspan/train/distributed.h"
#include "longspan/train/train.h"

namespace longspan::train {

models::NamedTensors Trainer::tensors() const {
  models::NamedTensors out = optimizer_->state();
  for (const auto& [name, tensor] : model_->weights()) out["weights." + name] = tensor;
  return out;
}

std::string Trainer::train_identity() const { return data_.train ? identity_of(*data_.train) : reader_->identity(); }

void Trainer::save(const std::string& folder, const Tokenizer& tokenizer, const Json& extra) const {
  if (writes()) make_writable_folder(folder);
  models::NamedTensors content = tensors();
  for (const auto& [name, rows] : reader_->state()) content[name] = peers_ ? peers_->gather_rows(rows) : rows;
  if (!writes()) return;
  content["generator"] = at::detail::getDefaultCPUGenerator().get_state();
  std::map<std::string, std::string> metadata = {{"format", kCheckpointFormat},
                                                 {"step", std::to_string(step_)},
                                                 {"threads", std::to_string(at::get_num_threads())},
                                                 {"train_tokens", std::to_string(train_tokens())},
                                                 {kTrainData, train_identity()},
                                                 {"model", models::to_json(model_->config()).dump()},
                                                 {"train", to_json(options_).dump()},
                                                 {"fingerprint", models::fingerprint(content)}};
  if (validation_ && validation_->step == step_)
    write_validation(metadata, {validation_->loss}, validation_identity(data_, options_));
  models::write_tensors(checkpoint_file(folder), content, metadata);

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
  const SafetensorsFile file = open_checkpoint(checkpoint);
  const std::string& path = file.path();
  const Json model = object_in(file, "model");
  LONGSPAN_CHECK(models::config_from_json(model) == model_->config(), path, ": another model (",
                 differences(model, models::to_json(model_->config())), ")");
  const CheckpointInfo info = info_of(file);
  const int64_t threads = integer_in(file, "threads");
  const int64_t before = integer_in(file, "train_tokens");
  const std::string train_data = optional_in(file, kTrainData);
  const Json options = object_in(file, "train");

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
  const bool as_now = info.validated_on.empty() || info.validated_on == validation_identity(data_, options_);
  if (info.validation && as_now) validation_ = ValidationResult{info.step, info.validation->loss};

  std::vector<std::string> warnings;
  const auto warn = [&](const auto&... parts) { warnings.push_back(str_cat(parts...)); };
  if (threads != at::get_num_threads())
    warn("trained with ", threads, " threads, now ", at::get_num_threads(), ": the last bits will differ");
  if (before != train_tokens())
    warn("other training data: they had ", before, " tokens, now ", train_tokens());
  else if (!train_data.empty() && train_data != train_identity())
    warn("other training data: as many tokens as before, but not the same");
  if (!as_now) warn("validation is of something else than before; earlier losses are not compared with its own");
  if (const std::string changed = differences(options, to_json(options_)); !changed.empty())
    warn("options changed: ", changed);
  return warnings;
}

CheckpointInfo checkpoint_info(const std::string& folder) { return info_of(open_checkpoint(folder)); }

bool is_resumable(const std::string& folder) { return !find_checkpoints(folder).empty(); }

Json saved_configuration(const std::string& folder) {
  std::vector<std::string> refused;
  return read_latest(folder, refused, [](const std::string& checkpoint) {
    const SafetensorsFile file = open_checkpoint(checkpoint);
    Json out = Json::object();
    out["model"] = object_in(file, "model");
    models::check_weights(file, models::config_from_json(out["model"]), "weights.");  // before a model is made of it
    out["train"] = object_in(file, "train");
    return out;
  });
}

}  // namespace longspan::train
