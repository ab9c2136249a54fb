// Trainer::save and Trainer::resume.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>

#include <charconv>

#include "longspan/models/model_files.h"
#include "longspan/train/adamw.h"
#include "longspan/train/train.h"

namespace longspan::train {

namespace {

constexpr const char* kFormat = "longspan.training.1";
constexpr const char* kFile = "/training.safetensors";

int64_t integer(const std::string& path, const std::string& key, const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  LONGSPAN_CHECK(error == std::errc() && end == text.data() + text.size() && value >= 0, path, ": ", key,
                 " must be a count, got '", text, "'");
  return value;
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

models::NamedTensors Trainer::weights() const {
  models::NamedTensors out = optimizer_->state();
  for (const auto& item : model_->named_parameters()) out["weights." + item.key()] = item.value();
  for (const auto& item : model_->named_buffers()) out["weights." + item.key()] = item.value();
  return out;
}

void Trainer::save(const std::string& folder, const Tokenizer& tokenizer, const Json& extra) const {
  Json config = extra.is_null() ? Json::object() : extra;
  config["train"] = to_json(options_);
  models::save_model(folder, *model_, tokenizer, config);

  models::NamedTensors tensors = weights();
  tensors["generator"] = at::detail::getDefaultCPUGenerator().get_state();
  models::write_tensors(folder + kFile, tensors,
                        {{"format", kFormat},
                         {"step", std::to_string(step_)},
                         {"threads", std::to_string(at::get_num_threads())},
                         {"train_tokens", std::to_string(train_.size())},
                         {"model", models::to_json(model_->config()).dump()},
                         {"train", to_json(options_).dump()},
                         {"fingerprint", models::fingerprint(tensors)}});
}

std::vector<std::string> Trainer::resume(const std::string& folder) {
  const std::string path = folder + kFile;
  const SafetensorsFile file(path);
  const auto metadata = [&](const std::string& key) {
    const auto found = file.metadata().find(key);
    LONGSPAN_CHECK(found != file.metadata().end(), path, ": not a training file of longspan (no '", key,
                   "' in its metadata)");
    return found->second;
  };
  LONGSPAN_CHECK(metadata("format") == kFormat, path, ": expected format ", kFormat, ", got ", metadata("format"));
  const Json model = parse_json(metadata("model"), path);
  LONGSPAN_CHECK(models::config_from_json(model) == model_->config(), path, ": another model (",
                 differences(model, models::to_json(model_->config())), ")");
  const int64_t step = integer(path, "step", metadata("step"));
  const int64_t threads = integer(path, "threads", metadata("threads"));
  const int64_t train_tokens = integer(path, "train_tokens", metadata("train_tokens"));
  const Json options = parse_json(metadata("train"), path);

  models::NamedTensors into = weights();
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  at::Tensor generator_state = generator.get_state();
  into["generator"] = generator_state;
  models::check_tensors(file, into);
  models::NamedTensors content;
  for (const auto& [name, info] : file.tensors()) content[name] = models::read_tensor(file, name);
  LONGSPAN_CHECK(metadata("fingerprint") == models::fingerprint(content), path,
                 ": the content was altered after it was written");

  models::read_into(file, into);
  generator.set_state(generator_state);
  step_ = step;

  std::vector<std::string> warnings;
  const auto warn = [&](const auto&... parts) { warnings.push_back(str_cat("resume: ", parts...)); };
  if (threads != at::get_num_threads())
    warn("trained with ", threads, " threads, now ", at::get_num_threads(), ": the last bits will differ");
  if (train_tokens != train_.size()) warn("the training data had ", train_tokens, " tokens, now ", train_.size());
  if (const std::string changed = differences(options, to_json(options_)); !changed.empty())
    warn("options changed: ", changed);
  return warnings;
}

}  // namespace longspan::train
