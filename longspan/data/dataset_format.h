// Names shared by the writer and the reader of a dataset folder; data/dataset.h describes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace longspan {

inline constexpr const char* kDatasetFile = "dataset.json";
inline constexpr int64_t kDatasetVersion = 2;
/// Of a tokenizer's description, in dataset.json too where it has one.
inline constexpr const char* kFingerprint = "fingerprint";
inline constexpr std::string_view kSplits[] = {"train", "valid", "test"};

// Files of a split.
inline std::string tokens_file(std::string_view split) { return std::string(split) + ".bin"; }
inline std::string documents_file(std::string_view split) { return std::string(split) + ".documents.bin"; }
/// The map to the source, where tokens are not bytes (data/source_map.h).
inline std::string source_file(std::string_view split) { return std::string(split) + ".source.bin"; }
inline std::string long_file(std::string_view split) { return std::string(split) + ".long.bin"; }

}  // namespace longspan
