// Names shared by the writer and the reader of a data set folder; data/dataset.h describes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace longspan {

inline constexpr const char* kDatasetFile = "dataset.json";
inline constexpr int64_t kDatasetVersion = 2;
/// A split's tokens lie in "<split>.bin".
inline constexpr std::string_view kSplits[] = {"train", "valid", "test"};
/// Its borders of documents.
inline std::string documents_file(std::string_view split) { return std::string(split) + ".documents.bin"; }

}  // namespace longspan
