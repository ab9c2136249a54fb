// Names shared by the writer and the reader of a data set folder; data/dataset.h describes it.
#pragma once

#include <cstdint>

namespace longspan {

inline constexpr const char* kDatasetFile = "dataset.json";
inline constexpr int64_t kDatasetVersion = 1;

}  // namespace longspan
