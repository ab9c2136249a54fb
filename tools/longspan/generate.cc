// longspan generate: text that continues a prompt, shown as it is drawn.
#include "longspan/models/generate.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>

#include "command.h"
#include "interrupt.h"
#include "longspan/base/check.h"
#include "longspan/io/mapped_file.h"
#include "longspan/models/model_files.h"
#include "longspan/text/decoder.h"
#include "longspan/text/tokenizer.h"
#include "output.h"
#include "timing.h"
#include "utf8.h"

namespace longspan::tool {

namespace {

struct Options {
  std::string model, prompt, prompt_file;
  std::map<std::string, std::string> fields;  ///< of GenerateOptions, those given
};

std::string read_prompt(const Options& options) {
  if (options.prompt_file.empty()) return options.prompt;
  if (options.prompt_file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  const MappedFile file(options.prompt_file);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

void generate(const Options& options, const CommonOptions& common) {
  LONGSPAN_CHECK(common.dtype != "bfloat16", "generate: --dtype bfloat16 is not supported; use float32 or float64");
  models::GenerateOptions draw;
  if (common.seed) draw.seed = static_cast<int64_t>(*common.seed);
  FieldValues values;
  for (const auto& [name, text] : options.fields) values[name] = text;
  models::generate_fields().apply(draw, values);
  const std::string prompt = read_prompt(options);
  LONGSPAN_CHECK(!prompt.empty(), "generate: the prompt is empty; give --prompt TEXT or --prompt-file FILE");

  models::LoadedModel loaded = models::load_model(options.model);
  if (common.dtype == "float64") loaded.model->to(at::kDouble);
  const auto encoded = loaded.tokenizer->encode(prompt);
  const std::vector<int64_t> tokens(encoded.begin(), encoded.end());

  TokenDecoder decoder(*loaded.tokenizer);
  for (const uint32_t token : encoded) decoder.push(token);
  std::string text, pending;
  const double start = now();
  const auto drawn = models::generate(*loaded.model, tokens, draw, [&](int64_t token) {
    pending += decoder.push(static_cast<uint32_t>(token));
    const std::size_t whole = whole_characters(pending);
    if (!common.json) print_text(pending.substr(0, whole));
    text += pending.substr(0, whole);
    pending.erase(0, whole);
    return !interrupt_requested();
  });
  text += pending;
  if (common.json) {
    print_json({{"prompt_tokens", tokens.size()},
                {"tokens", drawn.size()},
                {"text", text},
                {"tokens_per_second", static_cast<double>(drawn.size()) / (now() - start)}});
  } else {
    print_text(pending + "\n");
  }
  stop_if_interrupted();
}

}  // namespace

Action set_up_generate(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "folder of the model")->required();
  auto* prompt = app.add_option("--prompt", options->prompt, "text to continue");
  app.add_option("--prompt-file", options->prompt_file, "file with the text to continue, - for stdin")
      ->excludes(prompt);
  for (const FieldInfo& field : models::generate_fields().infos()) {
    if (field.name == "seed") continue;  // a common flag
    std::string flag = "--" + field.name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    app.add_option_function<std::string>(
        flag, [options, name = field.name](const std::string& text) { options->fields[name] = text; },
        field.help + " (default: " + to_string(field.default_value) + ")");
  }
  return [options, &common] { generate(*options, common); };
}

}  // namespace longspan::tool
