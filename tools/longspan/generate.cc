// longspan generate: text that continues a prompt or an earlier stream, shown as it is drawn.
#include "longspan/models/generate.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "command.h"
#include "field_flags.h"
#include "interrupt.h"
#include "log.h"
#include "longspan/base/check.h"
#include "longspan/models/model_files.h"
#include "longspan/models/stream_reader.h"
#include "longspan/text/decoder.h"
#include "output.h"
#include "stream/byte_input.h"
#include "stream/late_progress.h"
#include "stream/session_flags.h"
#include "stream/shown_text.h"
#include "stream/token_feed.h"
#include "timing.h"

namespace longspan::tool {

namespace {

constexpr double kNotScored = std::numeric_limits<double>::quiet_NaN();

struct GenerateFlags {
  std::string model, prompt_file;
  std::optional<std::string> prompt;
  std::vector<std::string> stops;
  FieldValues fields;  ///< of GenerateOptions, those given
  SessionFlags state;
};

/// File with the prompt, "-" for stdin, none where it stands on the command line or there is nothing to read.
std::optional<std::string> prompt_path(const GenerateFlags& options) {
  if (options.prompt) return std::nullopt;
  if (!options.prompt_file.empty()) return options.prompt_file;
  // A stream can go on without a prompt, and stdin may be a pipe that somebody keeps open for something else.
  if (!options.state.load.empty()) return std::nullopt;
  return stdin_is_piped() ? std::optional<std::string>("-") : std::nullopt;
}

class Generation {
 public:
  Generation(const GenerateFlags& options, const CommonOptions& common)
      : options_(options),
        common_(common),
        draw_(models::generate_fields().parse(options.fields)),
        shown_(options.stops) {
    LONGSPAN_CHECK(common.dtype != "bfloat16", "generate: --dtype bfloat16 is not supported; use float32 or float64");
    if (const auto path = prompt_path(options))
      input_.emplace(*path);
    else if (!options.prompt && stdin_holds_text())
      log_info("generate: stdin is not read with --load-state; --prompt-file - reads it");
    LONGSPAN_CHECK(input_ || (options.prompt && !options.prompt->empty()) || !options.state.load.empty(), kNoPrompt);
    options.state.check();
    loaded_ = models::load_model(options.model);
    if (common.dtype == "float64") loaded_.model->to(at::kDouble);
    text_ = options.state.begin(*loaded_.model);
    if (common.seed) draw_.seed = static_cast<int64_t>(*common.seed);
    if (!common.seed && text_.session.seed) draw_.seed = *text_.session.seed;
  }

  void run() {
    show(shown_.push(text_.session.held));
    read_prompt();
    if (prompt_tokens_ > 0) show(shown_.release());  // what comes between cannot complete it
    if (!interrupt_requested() && !shown_.stopped()) {
      LONGSPAN_CHECK(text_.session.tokens() > 0, kNoPrompt);
      draw();
    }
    // What could be the beginning of a character or of a stop string is shown by the next session, where there is one.
    text_.session.held = options_.state.saves() ? shown_.held() : "";
    if (!options_.state.saves()) show(shown_.release());
    if (!common_.json && (!options_.state.saves() || isatty(STDOUT_FILENO) == 1)) print_text("\n");
    options_.state.finish(*loaded_.model, text_);
    if (common_.json) print_summary();
    stop_if_interrupted();
  }

 private:
  static constexpr const char* kNoPrompt =
      "generate: the prompt is empty; give --prompt TEXT, --prompt-file FILE (- for stdin), a pipe, or --load-state "
      "FILE";

  void read_prompt() {
    models::StreamReader reader(*loaded_.model, text_.session, models::StreamReader::Scores::off);
    TokenFeed feed(*loaded_.tokenizer, text_.session.text, "prompt");
    const auto accept = [&](const std::vector<FedToken>& fed) {
      for (const FedToken& token : fed) {
        text_.ledger.pass(token.silent);
        text_.ledger.add(token.bytes, kNotScored);
      }
      reader.read(numbers_of(fed));
      prompt_tokens_ += static_cast<int64_t>(fed.size());
    };
    if (options_.prompt) accept(feed.push(*options_.prompt));
    if (input_) {
      LateProgress progress("prompt", input_->left(), common_.quiet);
      std::array<char, 4096> buffer;
      int64_t done = 0;
      while (const std::size_t got = input_->read(buffer.data(), buffer.size())) {
        accept(feed.push({buffer.data(), got}));
        progress.update(done += static_cast<int64_t>(got));
      }
      progress.finish();
    }
    accept(feed.finish());
    text_.ledger.pass(feed.take_silent());
  }

  void draw() {
    TokenDecoder decoder(*loaded_.tokenizer);
    for (const int64_t token : text_.session.recent.view()) decoder.push(static_cast<uint32_t>(token));
    const double start = now();
    models::generate(*loaded_.model, text_.session, draw_, [&](int64_t token) {
      ++drawn_;
      const std::string bytes = decoder.push(static_cast<uint32_t>(token));
      text_.ledger.add(bytes, kNotScored);
      show(shown_.push(bytes));
      return !shown_.stopped() && !interrupt_requested();
    });
    seconds_ = now() - start;
  }

  void show(const std::string& text) {
    if (text.empty()) return;
    if (common_.json)
      all_ += text;
    else
      print_text(text);
  }

  void print_summary() const {
    const std::string ended = shown_.stopped() ? "stop" : interrupt_requested() ? "interrupted" : "tokens";
    print_json({{"prompt_tokens", prompt_tokens_},
                {"tokens", drawn_},
                {"text", all_},
                {"tokens_per_second", seconds_ > 0 ? static_cast<double>(drawn_) / seconds_ : 0},
                {"ended", ended},
                {"stop", shown_.stopped() ? Json(shown_.stop()) : Json()},
                {"seed", draw_.seed},
                {"stream_tokens", text_.session.tokens()},
                {"state_bytes", text_.session.state.bytes()}});
  }

  const GenerateFlags& options_;
  const CommonOptions& common_;
  models::GenerateOptions draw_;
  ShownText shown_;
  std::optional<ByteInput> input_;
  models::LoadedModel loaded_;
  TextSession text_;
  int64_t prompt_tokens_ = 0, drawn_ = 0;
  double seconds_ = 0;
  std::string all_;  ///< what was shown, for JSON
};

}  // namespace

Action set_up_generate(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<GenerateFlags>();
  app.add_option("model", options->model, "folder of the model")->required();
  auto* prompt = app.add_option("--prompt", options->prompt,
                                "text to continue (default: stdin where it is a pipe, nothing with --load-state)");
  app.add_option("--prompt-file", options->prompt_file, "file with the text to continue, - for stdin")
      ->excludes(prompt);
  app.add_option("--stop", options->stops, "end before this text appears (may be repeated)")->allow_extra_args(false);
  options->state.add_to(app);
  add_field_flags(app, "Drawing", models::generate_fields().infos(), {"seed"}, options->fields);
  return [options, &common] { Generation(*options, common).run(); };
}

}  // namespace longspan::tool
