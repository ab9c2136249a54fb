// Token files with documents, for tests.
#pragma once

#include <string>
#include <vector>

#include "longspan/data/document_index.h"
#include "tests/train/token_files.h"

namespace longspan::train {

class DocumentFiles : public TokenFiles {
 protected:
  /// Borders of documents that begin at these tokens of a file of `tokens` tokens.
  DocumentIndex documents(const std::string& name, const std::vector<int64_t>& begins, int64_t tokens) const {
    std::string bytes;
    for (const int64_t begin : begins)
      for (int byte = 0; byte < 8; ++byte) bytes += static_cast<char>(begin >> 8 * byte & 0xff);
    return DocumentIndex(put(name, bytes), tokens);
  }
};

}  // namespace longspan::train
