// The configuration of a run, JSON as `--config` reads it, and behind a line "=" the values of `--set`, one a line.
#include "fuzz/fuzz.h"
#include "longspan/base/check.h"
#include "tools/longspan/run_config.h"

namespace longspan::fuzz {
namespace {

std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

/// Ranges hold, and the complete configuration, saved and read again, is the same.
void check_accepted(const tool::RunConfig& config) {
  models::model_fields().validate(config.model);
  train::train_fields().validate(config.train);
  const Json model = models::to_json(config.model), train = train::to_json(config.train);
  tool::RunConfigSources saved;
  saved.base = parse_json(Json{{"model", model}, {"train", train}}.dump(2), "saved");
  const tool::RunConfig again = tool::read_run_config(saved);
  FUZZ_CHECK(models::to_json(again.model) == model);
  FUZZ_CHECK(train::to_json(again.train) == train);
}

}  // namespace
}  // namespace longspan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace longspan;
  const auto parts = fuzz::pieces(fuzz::text_of(data, size), 2);
  try {
    tool::RunConfigSources sources;
    sources.base = parse_json(parts[0], "input");
    FUZZ_CHECK(parse_json(sources.base.dump(), "again") == sources.base);
    sources.settings = fuzz::lines(parts[1]);
    fuzz::check_accepted(tool::read_run_config(sources));
  } catch (const InputError&) {
  }
  return 0;
}
