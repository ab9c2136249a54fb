// What every subcommand shares: the common flags and the table of subcommands.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace longspan::tool {

/// Flags that mean the same in every subcommand that has a use for them; they stand before or after its name.
struct CommonOptions {
  int threads = 0;                   ///< 0: as many as torch takes by itself (the machine's cores)
  std::optional<uint64_t> seed;      ///< unset: what the configuration says, else 0
  std::optional<std::string> dtype;  ///< unset: the subcommand's own default
  std::string device = "cpu";
  bool json = false;                      ///< JSON Lines on stdout
  bool quiet = false;                     ///< no progress on stderr
  bool verbose = false;                   ///< which forms of the operators ran, on stderr
  std::vector<std::string> command = {};  ///< the whole command line, as it was given
};

/// The common flags as bits.
enum CommonFlags : unsigned {
  kThreads = 1 << 0,
  kSeed = 1 << 1,
  kDtype = 1 << 2,
  kDevice = 1 << 3,
  kJson = 1 << 4,
  kQuiet = 1 << 5,
  kVerbose = 1 << 6,
  kAllFlags = (1 << 7) - 1
};

/// What is to be run once parsing has succeeded.
using Action = std::function<void()>;

struct Subcommand {
  const char* name;
  const char* summary;
  /// Adds the subcommand's own flags to its parser; `common` outlives the action. Null where there are `parts`.
  Action (*set_up)(CLI::App& app, const CommonOptions& common);
  unsigned flags = kAllFlags;          ///< common flags that it has a use for; it refuses the others
  std::vector<Subcommand> parts = {};  ///< subcommands of its own, one of which is required
};

/// Every subcommand, in the order of `longspan --help`.
const std::vector<Subcommand>& subcommands();

Action set_up_prepare(CLI::App& app, const CommonOptions& common);
Action set_up_tokenize(CLI::App& app, const CommonOptions& common);
Action set_up_train(CLI::App& app, const CommonOptions& common);
Action set_up_eval(CLI::App& app, const CommonOptions& common);
Action set_up_score(CLI::App& app, const CommonOptions& common);
Action set_up_generate(CLI::App& app, const CommonOptions& common);
Action set_up_bench(CLI::App& app, const CommonOptions& common);
Action set_up_ablations(CLI::App& app, const CommonOptions& common);
Action set_up_demo(CLI::App& app, const CommonOptions& common);
Action set_up_demo_documents(CLI::App& app, const CommonOptions& common);

}  // namespace longspan::tool
