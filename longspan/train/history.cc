#include "longspan/train/history.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"
#include "longspan/io/sync_folder.h"
#include "longspan/metrics/likelihood.h"

namespace longspan::train {

namespace {

using internal::fail;

double bits_per_byte(double loss, double bytes_per_token) { return metrics::bits_per_byte(loss, bytes_per_token); }

/// The event of a line, unless it is none: damaged, or without a step.
std::optional<Json> event_of(const std::string& line) {
  Json event = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!event.is_object() || !event.contains("event") || !event["event"].is_string() || !event.contains("step") ||
      !event["step"].is_number_integer())
    return std::nullopt;
  return event;
}

/// Writes the events up to `step` to `into`, when it is given; returns whether there was anything else.
bool read_events(const std::string& path, int64_t step, AtomicFile* into,
                 const std::function<void(const Json&)>& on_event) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(path, "cannot be read", errno);
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  bool foreign = false;
  std::string kept;
  for (std::string line; std::getline(in, line);) {
    const bool whole = !in.eof();  // it ended with a line break
    const auto event = whole ? event_of(line) : std::nullopt;
    if (!event || (*event)["step"].get<int64_t>() > step) {
      foreign = true;
      continue;
    }
    if (on_event) on_event(*event);
    if (!into) continue;
    kept += line + "\n";
    if (kept.size() < kPiece) continue;
    into->write(kept);
    kept.clear();
  }
  if (in.bad()) fail(path, "cannot be read", EIO);
  if (into) into->write(kept);
  return foreign;
}

}  // namespace

Json to_json(const StepResult& result, double bytes_per_token) {
  Json json = {{"event", "step"}, {"step", result.step}, {"loss", result.loss}};
  if (bytes_per_token > 0) json["bits_per_byte"] = bits_per_byte(result.loss, bytes_per_token);
  json["lr"] = result.learning_rate;
  json["grad_norm"] = result.grad_norm;
  json["tokens"] = result.tokens;
  json["tokens_per_second"] = static_cast<double>(result.tokens) / result.seconds;
  return json;
}

double bits_per_byte(const ValidationResult& result) {
  const int64_t bytes = result.source_bytes > 0 ? result.source_bytes : result.tokens;
  return metrics::bits_per_byte(result.loss * static_cast<double>(result.tokens), static_cast<double>(bytes));
}

Json to_json(const ValidationResult& result) {
  Json json = {{"event", "validation"}, {"step", result.step}, {"loss", result.loss}};
  if (result.metrics.empty()) json["bits_per_byte"] = bits_per_byte(result);
  for (const auto& [name, value] : result.metrics) json[name] = value;
  json["tokens"] = result.tokens;
  return json;
}

History::History(std::string path, int64_t step, double bytes_per_token,
                 const std::function<void(const Json&)>& on_event)
    : path_(std::move(path)), bytes_per_token_(bytes_per_token) {
  std::error_code unknown;
  if (step > 0 && std::filesystem::exists(path_, unknown) && read_events(path_, step, nullptr, on_event)) {
    AtomicFile file(path_);
    read_events(path_, step, &file, {});
    file.commit();
  }
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (step == 0 ? O_TRUNC : 0), 0666);
  if (descriptor_ < 0) fail(path_, "cannot be written", errno);
}

History::~History() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void History::append(const Json& event) {
  // A command line may hold a name that is not UTF-8.
  const std::string line = event.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = ::write(descriptor_, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path_, "cannot be written", errno);
    done += static_cast<std::size_t>(written);
  }
}

void History::start(int64_t step, int64_t steps, int threads, const std::string& command, const std::string& data) {
  Json event = {{"event", "start"}, {"step", step}, {"steps", steps}, {"threads", threads}};
  if (!command.empty()) event["command"] = command;
  if (!data.empty()) event["data"] = data;
  append(event);
}

void History::on_step(const StepResult& result) { append(to_json(result, bytes_per_token_)); }

void History::on_validation(const ValidationResult& result) { append(to_json(result)); }

void History::on_checkpoint(int64_t step) { append({{"event", "checkpoint"}, {"step", step}}); }

}  // namespace longspan::train
