// Trainer::step_or_dump: what is left of a step whose loss or gradient is not finite.
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

/// The command that repeats the step.
std::string command(const std::string& place, const Json& extra) {
  const bool known = extra.is_object() && extra.contains("data") && extra["data"].contains("folder");
  return str_cat("longspan train ", known ? extra["data"]["folder"].get<std::string>() : "DATA", " --out ", place,
                 " --resume --threads ", at::get_num_threads());
}

}  // namespace

StepResult Trainer::step_or_dump(const std::string& folder, const Tokenizer& tokenizer, const Json& extra) {
  const int64_t failed = step_ + 1;  // the step may succeed when it is repeated
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const at::Tensor before = generator.get_state();
  std::string message;
  try {
    return step();
  } catch (const NonFiniteError& error) {
    message = error.what();
  }

  // The failure that is looked for is no news.
  const auto again = [&] {
    try {
      step();
    } catch (const NonFiniteError&) {
    }
  };
  if (!writes()) {  // takes part in what the first process does
    save(folder, tokenizer, extra);
    again();
    throw NonFiniteError(message);
  }

  const std::string place = folder + kFolder;
  try {
    generator.set_state(before);
    std::error_code unknown;
    if (std::filesystem::exists(place, unknown)) remove_folder(place);  // of an earlier failure
    AtomicFolder dump(place);
    std::string where;
    dump.fill([&](const std::string& aside) {
      save(aside, tokenizer, extra);
      models::NamedTensors batch;
      for (std::size_t i = 0; i < reader_->read().size(); ++i) batch[str_cat("batch.", i)] = reader_->read()[i];
      models::write_tensors(aside + "/batch.safetensors", batch, {{"step", std::to_string(failed)}});
      const NonFiniteOrigin origin = find_nonfinite(model_->weights(), again);
      where = to_text(origin);
      save_json(aside + "/nonfinite.json", {{"step", failed},
                                            {"message", message},
                                            {"origin", to_json(origin)},
                                            {"learning_rate", learning_rate(options_, failed)},
                                            {"bfloat16", bf16_},
                                            {"threads", at::get_num_threads()},
                                            {"repeat", command(place, extra)}});
    });
    dump.commit();
    message += str_cat(where.empty() ? "" : " (" + where + ")", "; the state before it lies in ", place);
  } catch (const RunError& error) {  // a full disk, most likely: the first failure is the one to tell
    message += str_cat("; the state before it could not be written: ", error.what());
  }
  throw NonFiniteError(message);
}

}  // namespace longspan::train
