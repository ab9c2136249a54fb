// The program longspan: parses the common flags, hands over to one subcommand.
#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "allocator.h"
#include "backend_lines.h"
#include "command.h"
#include "errors.h"
#include "interrupt.h"
#include "log.h"
#include "longspan/base/check.h"
#include "longspan/base/fields.h"
#include "output.h"

namespace longspan::tool {

const std::vector<Subcommand>& subcommands() {
  static const std::vector<Subcommand> table = {
      {"prepare", "turn text files into a dataset of tokens", set_up_prepare},
      {"train", "train a language model on a dataset", set_up_train},
      {"eval", "bits per byte of a model on the same target bytes with more or less context", set_up_eval},
      {"score", "log-likelihood of a text of any length, as it comes", set_up_score},
      {"generate", "continue a prompt", set_up_generate},
      {"bench", "time an attention, alternating with a peer", set_up_bench},
      {"inspect", "the attentions, a model's memory at work, sparse patterns", set_up_inspect},
      {"ablations", "train and compare variants of LAVO with one part changed in each", set_up_ablations},
      {"demo", "train and compare three small models on novels; write a report", set_up_demo},
  };
  return table;
}

namespace {

void add_common_flags(CLI::App& app, CommonOptions& common) {
  const auto group = [](CLI::Option* option) { option->group("Common flags"); };
  group(app.add_option("--threads", common.threads, "threads (default: the machine's cores)")
            ->check(CLI::Range(1, 4096)));
  group(app.add_option("--seed", common.seed, "seed of everything random, 0 to 2^53 (default: 0)")
            ->check(CLI::Range(int64_t{0}, int64_t{1} << 53)));
  group(app.add_option("--dtype", common.dtype, "number format")
            ->check(CLI::IsMember({"float32", "float64", "bfloat16"})));
  group(app.add_option("--device", common.device, "device: cpu")->check(CLI::IsMember({"cpu"})));
  group(app.add_flag("--json", common.json, "results as JSON Lines on stdout"));
  group(app.add_flag("--quiet", common.quiet, "no progress on stderr"));
  group(app.add_flag("--verbose", common.verbose, "which form of each operator ran and why, on stderr, once each"));
}

/// The parser that was reading when parsing failed: the chosen subcommand, or the program itself.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

/// The first argument that nobody knows, with the nearest name that somebody does; "" if all were known.
std::string unknown_argument(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining(true);
  if (left.empty()) return "";
  const CLI::App& inner = innermost(app);
  const std::string wrong = left.front().substr(0, left.front().find('='));
  const bool flag = wrong.rfind("-", 0) == 0;
  std::vector<std::string> known;
  for (const CLI::App* at = &inner; flag && at != nullptr; at = at->get_parent())
    for (const CLI::Option* option : at->get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  if (!flag)
    for (const CLI::App* sub : inner.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(sub->get_name());

  const bool expects_subcommand = !flag && !known.empty();
  std::string line = str_cat(flag                 ? "unknown flag '"
                             : expects_subcommand ? "unknown subcommand '"
                                                  : "unexpected argument '",
                             wrong, "'");
  if (const std::string near = nearest_name(wrong, known); !near.empty())
    line += "; did you mean '" + near + "'?";
  else if (expects_subcommand)
    for (const std::string& name : known) line += (name == known.front() ? "; known: " : " ") + name;
  return line;
}

int report_usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string line = unknown_argument(app);
  if (line.empty()) line = error.what();
  const CLI::App& inner = innermost(app);
  log_error(str_cat(line, " (see ", &inner == &app ? "longspan" : "longspan " + inner.get_name(), " --help)"));
  return exit_wrong_input;
}

int run(int argc, char** argv) {
  CommonOptions common;
  common.command.assign(argv, argv + argc);
  CLI::App app("longspan: LAVO and other attentions for sequences too long for full attention", "longspan");
  app.set_version_flag("--version", "longspan " LONGSPAN_VERSION);
  app.require_subcommand(1);
  add_common_flags(app, common);
  std::vector<std::pair<CLI::App*, Action>> actions;
  for (const Subcommand& command : subcommands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    Action action = command.set_up(*sub, common);
    add_common_flags(*sub, common);
    actions.emplace_back(sub, std::move(action));
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    std::ostringstream text;
    const int status = app.exit(done, text, text);
    print_text(text.str());
    return status;
  } catch (const CLI::ParseError& error) {
    return report_usage_error(app, error);
  }
  if (common.threads > 0) at::set_num_threads(common.threads);
  catch_interrupts();
  if (common.verbose) log_backends();
  for (const auto& [sub, action] : actions)
    if (*sub) return run_guarded(action);
  return exit_wrong_input;
}

}  // namespace
}  // namespace longspan::tool

int main(int argc, char** argv) {
  longspan::tool::use_huge_pages();
  int status = longspan::tool::exit_failed;
  const int guarded = longspan::tool::run_guarded([&] { status = longspan::tool::run(argc, argv); });
  return guarded == longspan::tool::exit_done ? status : guarded;
}
