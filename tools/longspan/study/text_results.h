// What a study on text measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/report/table.h"
#include "tools/longspan/study/cell_rows.h"
#include "tools/longspan/study/study_results.h"

namespace longspan::tool {

/// One model on one held-out document with one length of context.
struct TextScore {
  std::string document;
  int64_t length = 0, blocks = 0;
  double bits_per_byte = 0;
};

struct TextRun {
  int64_t seed = 0, tokens = 0;  ///< tokens: read in training
  double validation = 0;         ///< bits per byte at the length of training
  double train_seconds = 0, seconds = 0;
  std::vector<TextScore> scores;
  std::vector<std::pair<double, double>> curve;  ///< bits per byte of training windows, by steps
};

struct TextVariant : StudyModels {
  std::string baseline;  ///< name of the variant without a memory that it is compared with; "" for those themselves
  int64_t feed_forward = 0;
  std::vector<TextRun> runs = {};
};

struct TextDocument {
  std::string name;
  int64_t bytes = 0;
};

struct TextStudy {
  std::string title;
  std::vector<TextVariant> variants;
  std::vector<StudyPanel> panels;
  std::vector<int64_t> lengths;
  std::vector<TextDocument> held_out;
  int64_t train_bytes = 0, train_length = 0, blocks = 0;
  StudyConditions conditions;  ///< of its recipe: what all memories share
};

/// Blocks that a run was measured on with one length of context, of all documents.
int64_t blocks_at(const TextRun& run, int64_t length);
/// Bits per byte of a run with one length of context, all documents' blocks together.
std::optional<double> bits_per_byte(const TextRun& run, int64_t length);
/// Mean over seeds with its standard error (0 for one seed).
std::optional<MeanScore> mean_bits(const TextVariant& variant, int64_t length);
/// Mean over seeds of the difference to the baseline's run of that seed, on just the blocks that both were measured on;
/// none for a baseline.
std::optional<MeanScore> difference(const TextStudy& study, const TextVariant& variant, int64_t length);

TextRun text_run(int64_t seed, const Json& result);

report::Table bits_table(const TextStudy& study);
report::Table difference_table(const TextStudy& study);
report::Table models_table(const TextStudy& study);

/// (greatest - least) / least of the parameters.
double parameter_spread(const TextStudy& study);

Json to_json(const TextStudy& study);
std::string to_csv(const TextStudy& study);
std::string to_markdown(const TextStudy& study);

/// What can be said of each memory against its baseline at the longest context.
std::string text_sentence(const TextStudy& study);

}  // namespace longspan::tool
