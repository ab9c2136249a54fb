// The flags that name a pattern.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pattern_view.h"
#include "tools/longspan/command.h"

namespace longspan::tool {

/// --pattern, --n, --set, --edges, --layer; the seed is the common one.
class PatternFlags {
 public:
  /// This outlives the parser.
  void add(CLI::App& app);
  /// The pattern they name. InputError where something is missing or does not fit.
  PatternLook look(const CommonOptions& common) const;

 private:
  std::string pattern_, edges_;
  std::optional<int64_t> n_;
  int64_t layer_ = 0;
  std::vector<std::string> set_;
};

/// Refuses "" for a flag that names a file.
std::string expect_file_name(const std::string& path);

}  // namespace longspan::tool
