// The program longspan: parses the common flags, hands over to one subcommand.
#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "allocator.h"
#include "backend_lines.h"
#include "command.h"
#include "common_flags.h"
#include "errors.h"
#include "inspect/inspect.h"
#include "interrupt.h"
#include "log.h"
#include "output.h"
#include "recall/recall.h"
#include "study/study.h"
#include "task/task.h"
#include "usage.h"

namespace longspan::tool {

const std::vector<Subcommand>& subcommands() {
  constexpr unsigned kReport = kJson | kQuiet;
  constexpr unsigned kModel = kReport | kThreads | kDtype | kDevice | kVerbose;
  static const std::vector<Subcommand> table = {
      {"prepare", "turn text files into a dataset of tokens", set_up_prepare, kReport | kThreads | kSeed},
      {"tokenize", "show the tokens of a text", set_up_tokenize, kJson},
      {"train", "train a language model on a dataset", set_up_train, kModel | kSeed},
      {"eval", "bits per byte of a model on the same target bytes with more or less context", set_up_eval, kModel},
      {"score", "log-likelihood of a text of any length, as it comes", set_up_score, kModel},
      {"generate", "continue a prompt", set_up_generate, kModel | kSeed},
      {"task", "encoders on documents: masked tokens, labels, answers to questions", nullptr, 0, task_commands()},
      {"recall", "models that answer from what stands far back in a row", nullptr, 0, recall_commands()},
      {"bench", "time an attention, alternating with a peer", set_up_bench, kModel | kSeed},
      {"inspect", "attentions, options and fields; sparse patterns and their spectra; a trained model at work", nullptr,
       0, inspect_subjects()},
      {"ablations", "train and compare variants of LAVO with one part changed in each", set_up_ablations,
       kReport | kThreads | kSeed | kVerbose},
      {"study", "train and compare memories: recall, text; resumable, with seeds and tables", nullptr, 0,
       study_commands()},
      {"demo", "train and compare three small models on novels; write a report", set_up_demo,
       kReport | kThreads | kSeed | kVerbose},
      {"demo-documents", "train and compare attentions on long documents; write a report", set_up_demo_documents,
       kReport | kThreads | kSeed | kVerbose},
  };
  return table;
}

namespace {

/// A subcommand that can be chosen.
struct Choice {
  CLI::App* parser;
  unsigned flags;
  Action action;
};

void add_subcommands(CLI::App& app, const std::vector<Subcommand>& table, CommonOptions& common,
                     std::vector<Choice>& choices) {
  app.require_subcommand(1);
  for (const Subcommand& command : table) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    if (command.parts.empty()) {
      choices.push_back({sub, command.flags, command.set_up(*sub, common)});
      refuse_empty_values(*sub);
      add_common_flags(*sub, common, command.flags);
    } else {
      add_common_flags(*sub, common, 0);
      add_subcommands(*sub, command.parts, common, choices);
    }
  }
}

int run(int argc, char** argv) {
  CommonOptions common;
  common.command.assign(argv, argv + argc);
  CLI::App app("longspan: LAVO and other attentions for sequences too long for full attention", "longspan");
  app.set_version_flag("--version", "longspan " LONGSPAN_VERSION);
  app.footer("Exit status: 0 done, 1 failed, 2 wrong usage or input, 130 interrupted, 141 output closed.");
  add_common_flags(app, common, kAllFlags);
  std::vector<Choice> choices;
  add_subcommands(app, subcommands(), common, choices);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    std::ostringstream text;
    const int status = app.exit(done, text, text);
    print_text(text.str());
    return status;
  } catch (const CLI::ParseError& error) {
    log_error(usage_error(app, error));
    return exit_wrong_input;
  }
  for (const Choice& choice : choices) {
    if (!*choice.parser) continue;
    if (const std::string flag = unused_common_flag(*choice.parser, choice.flags); !flag.empty()) {
      log_error(with_help(flag + " has no use here", *choice.parser));
      return exit_wrong_input;
    }
    if (common.threads > 0) at::set_num_threads(common.threads);
    if (common.verbose) log_backends();
    return run_guarded(choice.action);
  }
  return exit_wrong_input;
}

}  // namespace
}  // namespace longspan::tool

int main(int argc, char** argv) {
  // Before all else: a signal while the program begins is a wish to stop like any other.
  longspan::tool::catch_interrupts();
  longspan::tool::use_caching_allocator();
  int status = longspan::tool::exit_failed;
  const int guarded = longspan::tool::run_guarded([&] { status = longspan::tool::run(argc, argv); });
  return guarded == longspan::tool::exit_done ? status : guarded;
}
