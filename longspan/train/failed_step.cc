// What is left of a step whose loss or gradient is not finite.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>

#include <filesystem>
#include <system_error>

#include "longspan/io/atomic_file.h"
#include "longspan/io/remove_folder.h"
#include "longspan/train/nonfinite.h"
#include "longspan/train/train.h"

namespace longspan::train {

namespace {

constexpr const char* kFolder = "/nonfinite";

std::string command(const Json& extra) {
  if (extra.is_object() && extra.contains("recall")) return "longspan recall train";
  const bool known = extra.is_object() && extra.contains("data") && extra["data"].contains("folder");
  return "longspan train " + (known ? extra["data"]["folder"].get<std::string>() : std::string("DATA"));
}

}  // namespace

std::string keep_failed_step(const std::string& run, const FailedStep& failed, const models::NamedTensors& weights,
                             const std::function<void(const std::string& folder)>& save,
                             const std::function<void()>& again) {
  const std::string place = run + kFolder;
  try {
    std::error_code unknown;
    if (std::filesystem::exists(place, unknown)) remove_folder(place);  // of an earlier failure
    AtomicFolder dump(place);
    std::string where;
    dump.fill([&](const std::string& aside) {
      save(aside);
      models::write_tensors(aside + "/batch.safetensors", failed.batch, {{"step", std::to_string(failed.step)}});
      const NonFiniteOrigin origin = find_nonfinite(weights, [&] {
        try {  // the failure that is looked for is no news
          again();
        } catch (const NonFiniteError&) {
        }
      });
      where = to_text(origin);
      Json report = {
          {"step", failed.step},
          {"message", failed.message},
          {"origin", to_json(origin)},
          {"learning_rate", failed.learning_rate},
          {"bfloat16", failed.bfloat16},
          {"threads", at::get_num_threads()},
          {"repeat", str_cat(failed.command, " --out ", place, " --resume --threads ", at::get_num_threads())}};
      if (failed.more.is_object()) report.update(failed.more);
      save_json(aside + "/nonfinite.json", report);
    });
    dump.commit();
    return str_cat(failed.message, where.empty() ? "" : " (" + where + ")", "; the state before it lies in ", place);
  } catch (const RunError& error) {  // a full disk, most likely: the first failure is the one to tell
    return str_cat(failed.message, "; the state before it could not be written: ", error.what());
  }
}

StepResult Trainer::step_or_dump(const std::string& folder, const Tokenizer& tokenizer, const Json& extra) {
  FailedStep failed;
  failed.step = step_ + 1;  // the step may succeed when it is repeated
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const at::Tensor before = generator.get_state();
  try {
    return step();
  } catch (const NonFiniteError& error) {
    failed.message = error.what();
  }

  const auto keep = [&](const std::string& place) { save(place, tokenizer, extra); };
  if (!writes()) {  // takes part in what the first process does
    keep(folder);
    try {
      step();
    } catch (const NonFiniteError&) {
    }
    throw NonFiniteError(failed.message);
  }
  generator.set_state(before);
  failed.learning_rate = learning_rate(options_, failed.step);
  failed.bfloat16 = bf16_;
  failed.command = command(extra);
  for (std::size_t i = 0; i < reader_->read().size(); ++i) failed.batch[str_cat("batch.", i)] = reader_->read()[i];
  throw NonFiniteError(keep_failed_step(folder, failed, model_->weights(), keep, [&] { step(); }));
}

}  // namespace longspan::train
