// Studies of recall that are there to be run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/longspan/study/recall_results.h"
#include "tools/longspan/study/variant.h"

namespace longspan::tool {

struct RecallPreset {
  std::string name, title;
  std::vector<StudyVariant> variants;
  std::vector<StudyPanel> panels;
  int64_t seeds = 1;
  std::string pairs, lengths;  ///< as the flags have them
  int64_t questions = 512;
  std::vector<std::string> settings = {};  ///< as --set has them
};

/// "quick", "question", "bar".
std::vector<std::string> recall_preset_names();
RecallPreset recall_preset(const std::string& name);

}  // namespace longspan::tool
