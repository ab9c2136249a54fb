// How files of examples are read.
#pragma once

#include <string>
#include <vector>

#include "longspan/data/records.h"
#include "tools/longspan/document_flags.h"

namespace longspan::tool {

class RecordFlags {
 public:
  /// This outlives the parser.
  void add(CLI::App& app);
  RecordOptions options(const std::vector<std::string>& inputs) const;

 private:
  RecordOptions options_;
  std::string format_ = "auto", delimiter_;
  DocumentFlags documents_;
};

/// What the flags that name files of examples say of them.
inline constexpr const char* kExampleFiles =
    "JSON Lines, CSV or plain text: files, folders, - for stdin; gzip, xz and zstd archives are unpacked";

}  // namespace longspan::tool
