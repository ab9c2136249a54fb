// longspan prepare: text files to a dataset.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <thread>

#include "command.h"
#include "document_flags.h"
#include "longspan/base/check.h"
#include "longspan/data/write_dataset.h"
#include "longspan/report/format.h"
#include "longspan/report/table.h"
#include "output.h"
#include "prepare_progress.h"

namespace longspan::tool {

namespace {

const std::map<std::string, SplitBy> kSplitBy = {{"bytes", SplitBy::bytes}, {"document", SplitBy::document}};

struct PrepareFlags {
  DatasetOptions dataset;
  DocumentFlags documents;
  std::string split_by = "bytes";
};

void prepare(const PrepareFlags& given, const CommonOptions& common) {
  DatasetOptions options = given.dataset;
  options.documents = given.documents.rule();
  options.separator = given.documents.separator();
  options.split_by = kSplitBy.at(given.split_by);
  LONGSPAN_CHECK(!common.seed || options.split_by == SplitBy::document,
                 "--seed: draws documents for the splits, so it has a use with --split-by document alone");
  if (common.seed) options.seed = *common.seed;
  options.threads =
      common.threads > 0 ? common.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  PrepareProgress progress(common.quiet);
  const auto splits = write_dataset(options, progress);
  progress.finish();
  report::Table table;
  table.columns = {{"split"}, {"tokens", true}, {"source bytes", true}, {"documents", true}};
  for (const auto& [name, info] : splits) {
    if (common.json)
      print_json({{"split", name},
                  {"tokens", info.tokens},
                  {"source_bytes", info.source_bytes},
                  {"documents", info.documents}});
    table.rows.push_back(
        {name, report::grouped(info.tokens), report::grouped(info.source_bytes), report::grouped(info.documents)});
  }
  if (!common.json) print_text(report::to_text(table));
}

}  // namespace

Action set_up_prepare(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<PrepareFlags>();
  DatasetOptions& dataset = options->dataset;
  app.add_option(
         "files", dataset.inputs,
         "text to train on, in this order: files, folders (with all below them), - for stdin; gzip, xz and zstd "
         "archives are unpacked")
      ->required();
  app.add_option("--out", dataset.output, "folder of the dataset")->required();
  app.add_option("--tokenizer", dataset.tokenizer,
                 "bytes, the file of a tokenizer (tokenizer.json, vocab.json with merges.txt beside it, .tiktoken, a "
                 "SentencePiece model), or a folder with one (default: bytes)");
  app.add_option("--held-out", dataset.held_out, "text of the split test, never trained on (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--valid-fraction", dataset.valid_fraction,
                 "part of the training text that becomes the split valid, 0 to 0.5 (default: 0.02)");
  app.add_option("--test-fraction", dataset.test_fraction,
                 "part of the training text that becomes the split test, 0 to 0.5 (default: 0)");
  app.add_option(
         "--split-by", options->split_by,
         "bytes: the fractions are the end of the text; document: each document is drawn for a split, by --seed "
         "(default: bytes)")
      ->check(CLI::IsMember(kSplitBy));
  options->documents.add(app);
  app.add_flag("--overwrite", dataset.overwrite, "replace an existing dataset");
  return [options, &common] { prepare(*options, common); };
}

}  // namespace longspan::tool
