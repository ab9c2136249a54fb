// Making a dataset of tokens from text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "longspan/base/progress.h"
#include "longspan/data/dataset.h"
#include "longspan/data/document_cutter.h"

namespace longspan {

/// How `valid` and, by its fraction, `test` are parted from the training text.
enum class SplitBy {
  bytes,     ///< the end of the text: first train, then valid, then test; a document may be cut
  document,  ///< whole documents, each drawn by its number and the seed
};

/// What write_dataset() makes.
struct DatasetOptions {
  /// Text to train on, at least one, in this order: files, folders (data/text_inputs.h) or "-", standard input. gzip,
  /// xz and zstd archives are unpacked (io/unpack.h).
  std::vector<std::string> inputs;
  std::vector<std::string> held_out;  ///< the same, of the split `test`; none: no such split by this way
  std::string output;                 ///< folder to write
  std::string tokenizer = "bytes";    ///< "bytes" or the file of a SentencePiece model
  DocumentRule documents = DocumentRule::file;
  std::string separator;  ///< of documents, for DocumentRule::separator
  SplitBy split_by = SplitBy::bytes;
  /// Parts of the training text, by bytes of the source (SplitBy::document: of its documents), that become `valid` and
  /// `test`: from 0, for no such split, to 0.5 together. A split by bytes has at least kLeastSplitTokens, however small
  /// the fraction.
  double valid_fraction = 0.02;
  double test_fraction = 0;
  uint64_t seed = 0;  ///< of SplitBy::document
  int threads = 1;    ///< that encode at once, where tokens are not bytes; the result does not depend on it
  /// Replace an existing dataset. A folder that is not one, or holds anything besides, is never replaced.
  bool overwrite = false;
};

/// A target block of 1,024 tokens and the one token before it: what an evaluation needs at the least. `train` and what
/// is parted from it have as many.
inline constexpr int64_t kLeastSplitTokens = 1025;

/// Reads the text once, in pieces, so that memory does not grow with it, and writes the folder: it is filled aside and
/// renamed when complete. Returns the sizes by split. `progress` is told the bytes read, as they lie; the total is 0
/// when a pipe is among the inputs.
///
/// Throws InputError, naming file and place: for what find_inputs() and unpacked() refuse, an empty file, text that the
/// tokenizer cannot read, a file that is both trained on and held out, fractions out of range, a text too short or with
/// too few documents to part it, an output that exists, or an input inside it. RunError when reading or writing fails.
std::map<std::string, SplitInfo> write_dataset(const DatasetOptions& options, Progress& progress);

}  // namespace longspan
