// Token files for tests.
#pragma once

#include <string>

#include "longspan/data/token_file.h"
#include "tests/io/scratch_folder.h"

namespace longspan::train {

class TokenFiles : public ScratchFolder {
 protected:
  /// `size` tokens of an 11-letter language with structure: each follows from the one before, one in 16 is drawn;
  /// as part of a `vocabulary` that may be larger.
  TokenFile tokens(const std::string& name, int64_t size, unsigned seed = 1, int64_t vocabulary = 11) const {
    std::string text = {1};
    unsigned state = seed;
    while (static_cast<int64_t>(text.size()) < size) {
      state = state * 1664525u + 1013904223u;
      const int next = (text.back() * 3 + 1) % 11;
      text += static_cast<char>(state >> 28 == 0 ? (state >> 8) % 11 : next);
    }
    return TokenFile(put(name, text), TokenType::u8, vocabulary);
  }
};

}  // namespace longspan::train
