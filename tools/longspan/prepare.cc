// longspan prepare: text files to a dataset.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "command.h"
#include "longspan/base/check.h"
#include "longspan/data/write_dataset.h"
#include "longspan/report/format.h"
#include "longspan/report/table.h"
#include "output.h"
#include "prepare_progress.h"

namespace longspan::tool {

namespace {

/// A separator as it was typed: \n, \r, \t, \0 and \\ stand for what they do in C.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    constexpr std::string_view kNames = "nrt0\\", kMeanings{"\n\r\t\0\\", 5};
    const std::size_t which = i + 1 < text.size() ? kNames.find(text[i + 1]) : std::string_view::npos;
    LONGSPAN_CHECK(which != std::string_view::npos, "--separator: '", text,
                   "' has a backslash before something else than n, r, t, 0 or \\");
    out += kMeanings[which];
    ++i;
  }
  LONGSPAN_CHECK(!out.empty(), "--separator: expected a text, got ''");
  return out;
}

const std::map<std::string, DocumentRule> kDocuments = {
    {"file", DocumentRule::file}, {"line", DocumentRule::line}, {"blank", DocumentRule::blank}};
const std::map<std::string, SplitBy> kSplitBy = {{"bytes", SplitBy::bytes}, {"document", SplitBy::document}};

struct Options {
  DatasetOptions dataset;
  std::string documents = "file", split_by = "bytes";
  std::optional<std::string> separator;
};

void prepare(const Options& given, const CommonOptions& common) {
  DatasetOptions options = given.dataset;
  options.documents = kDocuments.at(given.documents);
  options.split_by = kSplitBy.at(given.split_by);
  LONGSPAN_CHECK(!common.seed || options.split_by == SplitBy::document,
                 "--seed: draws documents for the splits, so it has a use with --split-by document alone");
  if (common.seed) options.seed = *common.seed;
  options.threads =
      common.threads > 0 ? common.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (given.separator) {
    options.documents = DocumentRule::separator;
    options.separator = unescaped(*given.separator);
  }
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
  auto options = std::make_shared<Options>();
  DatasetOptions& dataset = options->dataset;
  app.add_option(
         "files", dataset.inputs,
         "text to train on, in this order: files, folders (with all below them), - for stdin; gzip, xz and zstd "
         "archives are unpacked")
      ->required();
  app.add_option("--out", dataset.output, "folder of the dataset")->required();
  app.add_option("--tokenizer", dataset.tokenizer, "bytes, or the file of a SentencePiece model (default: bytes)");
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
  auto* documents = app.add_option("--documents", options->documents,
                                   "what a document is: file, line, or blank: what stands between empty lines "
                                   "(default: file)")
                        ->check(CLI::IsMember(kDocuments));
  app.add_option("--separator", options->separator,
                 "text that parts documents and is left out, such as '<|endoftext|>'; \\n, \\r, \\t, \\0 as in C")
      ->excludes(documents);
  app.add_flag("--overwrite", dataset.overwrite, "replace an existing dataset");
  return [options, &common] { prepare(*options, common); };
}

}  // namespace longspan::tool
