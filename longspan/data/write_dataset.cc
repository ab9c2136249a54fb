#include "longspan/data/write_dataset.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/base/parallel.h"
#include "longspan/base/rng.h"
#include "longspan/data/dataset_format.h"
#include "longspan/data/document_encoder.h"
#include "longspan/data/input_meter.h"
#include "longspan/data/split_writer.h"
#include "longspan/data/text_inputs.h"
#include "longspan/data/tokenizer_file.h"
#include "longspan/io/atomic_file.h"
#include "longspan/io/input_file.h"
#include "longspan/io/json.h"
#include "longspan/io/unpack.h"

namespace longspan {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;
/// First word of the streams that draw the split of a document.
constexpr uint64_t kSplitStream = 0x73706c6974;

void check_options(const DatasetOptions& options) {
  LONGSPAN_CHECK(!options.inputs.empty(), "prepare: no input file given");
  const auto check = [](const char* name, double fraction) {
    LONGSPAN_CHECK(fraction >= 0 && fraction <= 0.5, "prepare: ", name, " must be from 0 to 0.5, got ", fraction);
  };
  LONGSPAN_CHECK(options.threads >= 1, "prepare: threads must be at least 1, got ", options.threads);
  check("valid_fraction", options.valid_fraction);
  check("test_fraction", options.test_fraction);
  LONGSPAN_CHECK(options.valid_fraction + options.test_fraction <= 0.5,
                 "prepare: valid_fraction and test_fraction must be at most 0.5 together, got ",
                 options.valid_fraction + options.test_fraction);
  LONGSPAN_CHECK(options.test_fraction == 0 || options.held_out.empty(),
                 "prepare: the split test is either held out or a fraction, not both");
  LONGSPAN_CHECK(std::count(options.inputs.begin(), options.inputs.end(), kStandardInput) +
                         std::count(options.held_out.begin(), options.held_out.end(), kStandardInput) <=
                     1,
                 "prepare: standard input can be read only once");
}

void check_output(const DatasetOptions& options) {
  std::error_code ignored;
  LONGSPAN_CHECK(!options.output.empty(), "prepare: no output folder given");
  fs::path at = fs::weakly_canonical(options.output, ignored);  // which alone knows what lies above "../x"
  if (!at.has_filename()) at = at.parent_path();                // "a/" is "a"
  for (at = at.parent_path(); at.has_relative_path(); at = at.parent_path())
    LONGSPAN_CHECK(!Dataset::is_dataset_with_tokens(at.string()), options.output, ": lies inside the dataset ",
                   at.string());
  if (!fs::exists(options.output, ignored) || fs::is_empty(options.output, ignored)) return;
  LONGSPAN_CHECK(Dataset::is_dataset(options.output), options.output, ": exists and is not a dataset");
  LONGSPAN_CHECK(options.overwrite, options.output,
                 ": a dataset exists there already; give another folder, or --overwrite to replace it");
}

/// Replacing the output would take the text, or the tokenizer, with it.
void check_outside(const std::string& path, const std::string& output) {
  std::error_code error;
  const fs::path folder = fs::canonical(output, error);
  if (error) return;  // not there yet, so nothing lies in it
  const fs::path file = fs::canonical(path, error);
  if (error) return;  // opening it says what is wrong
  const auto [rest, unused] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  LONGSPAN_CHECK(rest != folder.end(), path, ": lies inside the output folder ", output);
}

/// All that a dataset may hold, and so all that is replaced with it.
std::vector<std::string> dataset_files() {
  std::vector<std::string> names = {kDatasetFile, kTokenizerFile, kModelFile};
  for (const auto split : kSplits)
    for (const auto& name : {tokens_file(split), documents_file(split), source_file(split), long_file(split)})
      names.push_back(name);
  return names;
}

/// The splits while the text comes in.
class Writing {
 public:
  Writing(const DatasetOptions& options, const Tokenizer& tokenizer, const Parallel& parallel, InputMeter& meter)
      : options_(options),
        tokenizer_(tokenizer),
        meter_(meter),
        folder_(options.output, options.overwrite ? dataset_files() : std::vector<std::string>()),
        encoder_(tokenizer, parallel) {
    add("train");
    if (options.valid_fraction > 0) add("valid");
    if (options.test_fraction > 0 || !options.held_out.empty()) add("test");
  }

  void read(const std::vector<TextInput>& inputs, bool held_out) {
    std::vector<char> buffer(kBuffer);
    for (const TextInput& input : inputs) {
      meter_.next();
      InputFile file(input.path, [&] { meter_.wait(); });
      const auto text = unpacked(file, file.name());
      encoder_.begin_file(file.name());
      bool open = false;  // a document is at hand
      DocumentCutter cutter(
          options_.documents, options_.separator,
          [&](std::string_view bytes, int64_t offset) {
            if (!std::exchange(open, true)) encoder_.begin_document(held_out ? *splits_.at("test") : draw());
            encoder_.text(bytes, offset);
          },
          [&] {
            ++borders_;
            if (std::exchange(open, false)) encoder_.end_document();
          });
      std::size_t got, all = 0;
      do {
        got = text->read(buffer.data(), buffer.size());
        meter_.at(file.position());  // at the end too: it may have come because the whole was interrupted
        cutter.push({buffer.data(), got});
        all += got;
      } while (got > 0);
      LONGSPAN_CHECK(all > 0 || input.found, file.name(), ": is empty");
      const int64_t inside = borders_;
      cutter.finish();
      borders_ = inside;
    }
    encoder_.flush();
  }

  /// Whether a document ended anywhere but at the end of a file.
  bool found_borders() const { return borders_ > 0; }

  /// Parts valid and test from the end of what train holds.
  void cut_by_bytes() {
    SplitWriter& train = *splits_.at("train");
    const SplitInfo all = train.info();
    const int64_t parts = 1 + (options_.valid_fraction > 0) + (options_.test_fraction > 0);
    LONGSPAN_CHECK(all.tokens >= parts * kLeastSplitTokens,
                   "prepare: ", parts > 1 ? "nothing to hold out" : "too little to train on",
                   ": the training text has ", all.tokens, tokenizer_.is_bytewise() ? " bytes" : " tokens",
                   ", at least ", parts * kLeastSplitTokens, " are needed",
                   options_.valid_fraction > 0 && options_.test_fraction == 0 ? "; --valid-fraction 0 holds nothing out"
                                                                              : "");
    int64_t left = parts;
    for (const auto& [name, fraction] :
         {std::pair("test", options_.test_fraction), std::pair("valid", options_.valid_fraction)}) {
      if (fraction == 0) continue;
      --left;
      const SplitInfo now = train.info();
      const auto bytes = static_cast<int64_t>(std::floor(fraction * static_cast<double>(all.source_bytes)));
      const int64_t first = std::clamp(train.token_at(now.source_bytes - bytes), left * kLeastSplitTokens,
                                       now.tokens - kLeastSplitTokens);
      train.move_tail(first, *splits_.at(name));
    }
  }

  void check_drawn() const {
    for (const auto& [name, writer] : splits_) {
      if (name == "test" && options_.test_fraction == 0) continue;
      const SplitInfo info = writer->info();
      LONGSPAN_CHECK(info.tokens >= kLeastSplitTokens, "prepare: of ", documents_, " documents ", info.documents,
                     " with ", info.tokens, " tokens were drawn for the split ", name, ", but it needs ",
                     kLeastSplitTokens, " tokens; take a larger fraction, more documents or a split by bytes");
    }
  }

  std::map<std::string, SplitInfo> finish() {
    std::map<std::string, SplitInfo> infos;
    for (const auto& [name, writer] : splits_) {
      infos[name] = writer->info();
      LONGSPAN_CHECK(infos[name].tokens > 0, "prepare: the text of the split ", name, " gives no token");
      writer->close();
    }
    save_tokenizer(folder_ / "", tokenizer_);
    save_description(infos);
    folder_.commit();
    return infos;
  }

 private:
  void add(const std::string& name) {
    splits_[name] = std::make_unique<SplitWriter>(folder_, options_.output, name, tokenizer_);
  }

  /// The split of the next document.
  SplitWriter& draw() {
    const auto number = static_cast<uint64_t>(documents_++);
    if (options_.split_by == SplitBy::bytes) return *splits_.at("train");
    const double drawn = Rng(options_.seed, stream_of({kSplitStream, number})).uniform();
    if (drawn < options_.valid_fraction) return *splits_.at("valid");
    return *splits_.at(drawn < options_.valid_fraction + options_.test_fraction ? "test" : "train");
  }

  void save_description(const std::map<std::string, SplitInfo>& splits) const {
    Json json;
    json["format_version"] = kDatasetVersion;
    json["tokenizer"] = tokenizer_.name();
    if (const auto own = tokenizer_.description(); own.contains(kFingerprint))
      json[kFingerprint] = to_json(own.at(kFingerprint));
    json["vocabulary"] = tokenizer_.vocabulary_size();
    json["dtype"] = name_of(token_type_for(tokenizer_.vocabulary_size()));
    for (const auto& [name, info] : splits)
      json["splits"][name] = {
          {"tokens", info.tokens}, {"source_bytes", info.source_bytes}, {"documents", info.documents}};
    save_json(folder_ / kDatasetFile, json);
  }

  const DatasetOptions& options_;
  const Tokenizer& tokenizer_;
  InputMeter& meter_;
  AtomicFolder folder_;
  DocumentEncoder encoder_;
  std::map<std::string, std::unique_ptr<SplitWriter>> splits_;
  int64_t documents_ = 0;  ///< drawn so far
  int64_t borders_ = 0;    ///< between documents, within files
};

}  // namespace

std::map<std::string, SplitInfo> write_dataset(const DatasetOptions& options, Progress& progress) {
  check_options(options);
  check_output(options);
  const std::vector<TextInput> inputs = find_inputs(options.inputs, progress);
  const std::vector<TextInput> held_out = find_inputs(options.held_out, progress);
  check_disjoint(inputs, held_out);
  for (const auto* list : {&inputs, &held_out})
    for (const TextInput& input : *list)
      if (input.path != kStandardInput) check_outside(input.path, options.output);
  check_outside(options.tokenizer, options.output);
  const auto tokenizer = open_tokenizer(options.tokenizer);

  const ThreadPool pool(options.threads);
  InputMeter meter("prepare", progress);
  meter.expect(inputs);
  meter.expect(held_out);
  Writing writing(options, *tokenizer, pool, meter);
  writing.read(inputs, false);
  writing.read(held_out, true);
  if (options.documents == DocumentRule::separator && !writing.found_borders())
    progress.message("the separator does not occur in the text: each file is one document");
  if (options.split_by == SplitBy::bytes)
    writing.cut_by_bytes();
  else
    writing.check_drawn();
  return writing.finish();
}

}  // namespace longspan
