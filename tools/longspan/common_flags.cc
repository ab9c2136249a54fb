#include "common_flags.h"

#include <CLI/CLI.hpp>
#include <string_view>
#include <utility>

namespace longspan::tool {

namespace {

constexpr std::pair<CommonFlags, std::string_view> kNames[] = {
    {kThreads, "--threads"}, {kSeed, "--seed"},   {kDtype, "--dtype"},     {kDevice, "--device"},
    {kJson, "--json"},       {kQuiet, "--quiet"}, {kVerbose, "--verbose"},
};

}  // namespace

void add_common_flags(CLI::App& app, CommonOptions& common, unsigned shown) {
  const auto group = [&](CommonFlags flag, CLI::Option* option) {
    option->group(shown & flag ? "Common flags" : "");  // those of no group are not shown
  };
  group(kThreads, app.add_option("--threads", common.threads, "threads (default: the machine's cores)")
                      ->check(CLI::Range(1, 4096)));
  group(kSeed, app.add_option("--seed", common.seed, "seed of everything random, 0 to 2^53 (default: 0)")
                   ->check(CLI::Range(int64_t{0}, int64_t{1} << 53)));
  group(kDtype, app.add_option("--dtype", common.dtype, "number format")
                    ->check(CLI::IsMember({"float32", "float64", "bfloat16"})));
  group(kDevice, app.add_option("--device", common.device, "device: cpu")->check(CLI::IsMember({"cpu"})));
  group(kJson, app.add_flag("--json", common.json, "results as JSON Lines on stdout"));
  group(kQuiet, app.add_flag("--quiet", common.quiet, "no progress on stderr"));
  group(kVerbose,
        app.add_flag("--verbose", common.verbose, "which form of each operator ran and why, on stderr, once each"));
}

std::string unused_common_flag(const CLI::App& app, unsigned used) {
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent())
    for (const auto& [flag, name] : kNames)
      if ((used & flag) == 0 && at->count(std::string(name)) > 0) return std::string(name);
  return "";
}

void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    if (option->get_items_expected_max() > 0)
      option->check(
          [](const std::string& value) { return std::string(value.empty() ? "expected a value, got ''" : ""); });
}

}  // namespace longspan::tool
