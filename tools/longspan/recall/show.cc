// longspan recall show: rows of the task, to read or to give to a model.
#include <CLI/CLI.hpp>
#include <memory>

#include "longspan/base/check.h"
#include "tools/longspan/field_flags.h"
#include "tools/longspan/output.h"
#include "tools/longspan/recall/recall.h"

namespace longspan::tool {

namespace {

struct RecallShowFlags {
  int64_t pairs = 4, length = 64, rows = 1, span = 0;
  FieldValues fields;
};

void show(const RecallShowFlags& options, const CommonOptions& common) {
  RecallOptions recall = recall_fields().parse(options.fields);
  recall.pairs = options.pairs;
  recall = resolved(recall);
  const RecallShape shape = measured_shape(recall, options.pairs, options.length, options.span);
  for (int64_t i = 0; i < options.rows; ++i) {
    const RecallRow row =
        recall_row(recall, shape, RecallSplit::test, common.seed.value_or(0), 0, static_cast<uint64_t>(i));
    std::string text;
    for (const int64_t token : row.tokens) text += str_cat(text.empty() ? "" : " ", recall_word(recall, token));
    if (common.json)
      print_json({{"text", text}, {"tokens", row.tokens}, {"questions", row.questions}});
    else
      print_text(text + "\n");
  }
}

}  // namespace

Action set_up_recall_show(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<RecallShowFlags>();
  app.add_option("--pairs", options->pairs, "pairs of a row (default: 4)")->check(CLI::Range(1, 1 << 20));
  app.add_option("--length", options->length, "its tokens; of copy, the distance (default: 64)")
      ->check(CLI::Range(1, 1 << 30));
  app.add_option("--rows", options->rows, "how many rows (default: 1)")->check(CLI::Range(1, 1 << 30));
  app.add_option("--span", options->span,
                 "the questions stand in so many last tokens, 0: anywhere behind the pairs (default: 0)")
      ->check(CLI::Range(0, 1 << 30));
  add_field_flags(app, "Task options", recall_fields().infos(), {"pairs", "stages"}, options->fields);
  return [options, &common] { show(*options, common); };
}

}  // namespace longspan::tool
