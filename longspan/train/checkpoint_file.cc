#include "longspan/train/checkpoint_file.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

namespace longspan::train {

namespace {

/// A finite number; nothing where there is none.
std::optional<double> number_in(const SafetensorsFile& file, const std::string& key) {
  const auto at = file.metadata().find(key);
  if (at == file.metadata().end()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(at->second.data(), at->second.data() + at->second.size(), value);
  LONGSPAN_CHECK(error == std::errc() && end == at->second.data() + at->second.size() && std::isfinite(value),
                 file.path(), ": ", key, " must be a number, got '", at->second, "'");
  return value;
}

}  // namespace

SafetensorsFile open_checkpoint(const std::string& folder) {
  SafetensorsFile file(checkpoint_file(folder));
  const std::string& format = file.metadata("format");
  LONGSPAN_CHECK(format == kCheckpointFormat, file.path(), ": expected format ", kCheckpointFormat, ", got ", format);
  return file;
}

int64_t integer_in(const SafetensorsFile& file, const std::string& key) {
  const std::string& text = file.metadata(key);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  LONGSPAN_CHECK(error == std::errc() && end == text.data() + text.size() && value >= 0, file.path(), ": ", key,
                 " must be a count, got '", text, "'");
  return value;
}

Json object_in(const SafetensorsFile& file, const std::string& key) {
  Json json = parse_json(file.metadata(key), file.path());
  LONGSPAN_CHECK(json.is_object(), file.path(), ": ", key, " must be an object, got ", json.type_name());
  return json;
}

std::string optional_in(const SafetensorsFile& file, const std::string& key) {
  const auto at = file.metadata().find(key);
  return at != file.metadata().end() ? at->second : "";
}

CheckpointInfo info_of(const SafetensorsFile& file) {
  CheckpointInfo info;
  info.step = integer_in(file, "step");
  if (const auto loss = number_in(file, kValidationLoss))
    info.validation = ValidationScore{*loss, number_in(file, kValidationMetric)};
  info.validated_on = optional_in(file, kValidatedOn);
  return info;
}

void write_validation(std::map<std::string, std::string>& metadata, const ValidationScore& score,
                      const std::string& validated_on) {
  metadata[kValidationLoss] = exact_text(score.loss);
  if (score.metric) metadata[kValidationMetric] = exact_text(*score.metric);
  metadata[kValidatedOn] = validated_on;
}

bool ValidationScore::better_than(const ValidationScore& other) const {
  return metric != other.metric ? metric > other.metric : loss < other.loss;
}

std::string exact_text(double value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::string differences(const Json& before, const Json& now) {
  std::string out;
  for (const auto& [name, value] : now.items())
    if (!before.contains(name) || before[name] != value)
      out += str_cat(out.empty() ? "" : ", ", name, " ", before.value(name, Json()).dump(), " -> ", value.dump());
  return out;
}

}  // namespace longspan::train
