// Names shared by the writer and the reader of a data set folder; data/dataset.h describes it.
#pragma once

#include <cstdint>
#include <string_view>

namespace longspan {

inline constexpr const char* kDatasetFile = "dataset.json";
inline constexpr int64_t kDatasetVersion = 1;
/// A split's tokens lie in "<split>.bin".
inline constexpr std::string_view kSplits[] = {"train", "valid", "test"};

}  // namespace longspan
