// TaskTrainer::run, and its checkpoints.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "longspan/io/atomic_file.h"
#include "longspan/models/encoder_files.h"
#include "longspan/nn/packing.h"
#include "longspan/tasks/trainer.h"
#include "longspan/train/adamw.h"
#include "longspan/train/checkpoint_file.h"
#include "longspan/train/nonfinite.h"

namespace longspan::tasks {

namespace {

bool is_due(int64_t step, int64_t every) { return every > 0 && step % every == 0; }

constexpr const char* kMembers[] = {"encoder", "head", "task"};

/// A validation without a target has no loss.
bool is_comparable(const train::ValidationResult& result) { return std::isfinite(result.loss); }

/// "longspan task train KIND --data FILES --valid FILES", as far as `extra` says.
std::string command(models::HeadKind kind, const Json& extra) {
  std::string out = "longspan task train " + to_string(kind);
  for (const char* name : {"train", "valid"}) {
    std::string files;
    if (extra.is_object() && extra.contains("data") && extra["data"].contains(name) && extra["data"][name].is_array())
      for (const Json& file : extra["data"][name]) files += " " + file.get<std::string>();
    const bool is_data = std::string_view(name) == "train";
    if (is_data || !files.empty()) out += (is_data ? " --data" : " --valid") + (files.empty() ? " FILES" : files);
  }
  return out;
}

}  // namespace

train::ValidationScore TaskTrainer::score(const train::ValidationResult& result) const {
  train::ValidationScore out{result.loss};
  for (const auto& [name, value] : result.metrics)
    if (name == metric_) out.metric = value;
  return out;
}

train::StepResult TaskTrainer::step_or_dump(const std::string& folder, const Tokenizer& tokenizer, const Json& extra) {
  train::FailedStep failed;
  failed.step = step_ + 1;
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const at::Tensor before = generator.get_state();
  try {
    return step();
  } catch (const train::NonFiniteError& error) {
    failed.message = error.what();
  }
  generator.set_state(before);
  failed.learning_rate = train::learning_rate(options_.train, failed.step);
  failed.bfloat16 = bf16_;
  failed.command = command(model_->head_config().kind, extra);
  failed.more = {{"examples", Json::array()}};
  const std::vector<Batch> parts = parts_of_step();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string name = str_cat("batch.", i, ".");
    failed.batch[name + "tokens"] = parts[i].pack.tokens;
    failed.batch[name + "cu_seqlens"] = parts[i].pack.cu_seqlens;
    failed.batch[name + "examples"] = nn::index_tensor(parts[i].examples);
    for (const int64_t example : parts[i].examples)
      failed.more["examples"].push_back(train_.places[static_cast<std::size_t>(example)].text());
  }
  throw train::NonFiniteError(train::keep_failed_step(
      folder, failed, model_->weights(), [&](const std::string& place) { save(place, tokenizer, extra); },
      [&] { step(); }));
}

bool TaskTrainer::run(train::TrainObserver& observer, const std::string& folder, const Tokenizer* tokenizer,
                      const Json& extra) {
  LONGSPAN_CHECK(folder.empty() || tokenizer, "task: checkpoints need a tokenizer");
  const train::TrainOptions& general = options_.train;
  std::optional<train::CheckpointStore> store;
  if (!folder.empty()) {
    make_writable_folder(folder);
    store.emplace(folder);
    store->clear_unfinished();
  }
  // A run that was stopped after this step did not wait for its validation.
  bool only_validate = step_ > 0 && !done() && valid_ && is_due(step_, general.valid_every) &&
                       !(validation_ && validation_->step == step_);
  bool stop = false;
  do {
    if (!done() && !std::exchange(only_validate, false)) {
      observer.on_step(folder.empty() ? step() : step_or_dump(folder, *tokenizer, extra));
      stop = observer.should_stop();
    }
    bool improved = false;
    if (valid_ && (done() || is_due(step_, general.valid_every)) && !stop) {
      observer.on_validation(validate());
      improved = store && general.keep_best > 0 && is_comparable(*validation_) &&
                 store->improves(step_, score(*validation_), validated_on_);
    }
    if (store && (done() || stop || improved || is_due(step_, general.checkpoint_every))) {
      store->add(step_, [&](const std::string& place) { save(place, *tokenizer, extra); });
      store->keep(step_, general.keep_last, general.keep_best);
      observer.on_checkpoint(step_);
    }
  } while (!done() && !stop);
  return done();
}

models::NamedTensors TaskTrainer::tensors() const {
  models::NamedTensors out = optimizer_->state();
  for (const auto& [name, tensor] : model_->weights()) out["weights." + name] = tensor;
  return out;
}

void TaskTrainer::save(const std::string& folder, const Tokenizer& tokenizer, const Json& extra) const {
  make_writable_folder(folder);
  models::NamedTensors content = tensors();
  content["generator"] = at::detail::getDefaultCPUGenerator().get_state();
  std::map<std::string, std::string> metadata = {{"format", train::kCheckpointFormat},
                                                 {"step", std::to_string(step_)},
                                                 {"threads", std::to_string(at::get_num_threads())},
                                                 {"examples", std::to_string(train_.size())},
                                                 {"encoder", models::to_json(model_->encoder_config()).dump()},
                                                 {"head", models::to_json(model_->head_config()).dump()},
                                                 {"task", to_json(options_).dump()},
                                                 {"fingerprint", models::fingerprint(content)}};
  if (validation_ && validation_->step == step_ && is_comparable(*validation_))
    train::write_validation(metadata, score(*validation_), validated_on_);
  models::write_tensors(train::checkpoint_file(folder), content, metadata);

  Json config = extra.is_null() ? Json::object() : extra;
  config["task"] = to_json(options_);
  models::save_encoder(folder, *model_, tokenizer, config);
}

std::vector<std::string> TaskTrainer::resume(const std::string& folder) {
  std::vector<std::string> warnings;
  const auto more =
      train::read_latest(folder, warnings, [&](const std::string& checkpoint) { return load(checkpoint); });
  if (!warnings.empty()) warnings.push_back(str_cat("going on from step ", step_, " instead"));
  warnings.insert(warnings.end(), more.begin(), more.end());
  for (std::string& warning : warnings) warning.insert(0, "resume: ");
  return warnings;
}

std::vector<std::string> TaskTrainer::load(const std::string& checkpoint) {
  const SafetensorsFile file = train::open_checkpoint(checkpoint);
  const std::string& path = file.path();
  const Json encoder = train::object_in(file, "encoder"), head = train::object_in(file, "head"),
             own_head = models::to_json(model_->head_config());
  LONGSPAN_CHECK(models::encoder_from_json(encoder) == model_->encoder_config(), path, ": another encoder (",
                 train::differences(encoder, models::to_json(model_->encoder_config())), ")");
  LONGSPAN_CHECK(models::to_json(models::head_from_json(head)) == own_head, path, ": another head (",
                 train::differences(head, own_head), ")");
  const train::CheckpointInfo info = train::info_of(file);
  const int64_t threads = train::integer_in(file, "threads"), examples = train::integer_in(file, "examples");
  const Json options = train::object_in(file, "task");

  models::NamedTensors into = tensors();
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  at::Tensor generator_state = generator.get_state();
  into["generator"] = generator_state;
  models::check_tensors(file, into);
  models::NamedTensors content;
  for (const auto& [name, tensor] : into) content[name] = models::read_tensor(file, name);
  LONGSPAN_CHECK(file.metadata("fingerprint") == models::fingerprint(content), path,
                 ": the content was altered after it was written");
  models::read_into(file, into);
  generator.set_state(generator_state);
  step_ = info.step;
  validation_.reset();
  const bool as_now = info.validated_on.empty() || info.validated_on == validated_on_;
  if (info.validation && as_now) {
    validation_.emplace();
    validation_->step = info.step;
    validation_->loss = info.validation->loss;
    if (!metric_.empty() && info.validation->metric) validation_->metrics = {{metric_, *info.validation->metric}};
  }

  std::vector<std::string> warnings;
  const auto warn = [&](const auto&... parts) { warnings.push_back(str_cat(parts...)); };
  if (threads != at::get_num_threads())
    warn("trained with ", threads, " threads, now ", at::get_num_threads(), ": the last bits will differ");
  if (examples != train_.size()) warn("the training data had ", examples, " examples, now ", train_.size());
  if (const std::string changed = train::differences(options, to_json(options_)); !changed.empty())
    warn("options changed: ", changed);
  return warnings;
}

Json saved_configuration(const std::string& folder) {
  std::vector<std::string> refused;
  return train::read_latest(folder, refused, [](const std::string& checkpoint) {
    const SafetensorsFile file = train::open_checkpoint(checkpoint);
    Json out = Json::object();
    for (const char* member : kMembers) out[member] = train::object_in(file, member);
    models::check_weights(file, models::encoder_from_json(out["encoder"]), models::head_from_json(out["head"]),
                          "weights.");
    return out;
  });
}

}  // namespace longspan::tasks
