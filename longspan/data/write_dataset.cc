#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/data/dataset.h"
#include "longspan/data/dataset_format.h"
#include "longspan/data/tokenizer_file.h"
#include "longspan/io/atomic_file.h"
#include "longspan/io/json.h"
#include "longspan/text/byte_tokenizer.h"

namespace longspan {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kPiece = int64_t{1} << 20;

/// A text file that is read once from front to back. Its size is fixed when it is opened.
class Source {
 public:
  explicit Source(std::string path) : path_(std::move(path)) {
    LONGSPAN_CHECK(!path_.empty(), "prepare: the name of a text file is empty");
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not be waited for
    LONGSPAN_CHECK(descriptor_ >= 0, path_, ": cannot be opened: ", std::generic_category().message(errno));
    try {
      struct stat status;
      LONGSPAN_CHECK(::fstat(descriptor_, &status) == 0, path_, ": cannot be read");
      LONGSPAN_CHECK(!S_ISDIR(status.st_mode), path_, ": is a directory, expected a text file");
      LONGSPAN_CHECK(S_ISREG(status.st_mode), path_, ": is not a regular file");
      LONGSPAN_CHECK(status.st_size > 0, path_, ": is empty");
      size_ = status.st_size;
      identity_ = {status.st_dev, status.st_ino};
    } catch (...) {
      ::close(descriptor_);
      throw;
    }
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() { ::close(descriptor_); }

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }
  /// Device and inode: equal for two paths of one file.
  std::pair<uint64_t, uint64_t> identity() const { return identity_; }

  /// Exactly `size` more bytes.
  void read(char* out, int64_t size) {
    while (size > 0) {
      const ssize_t got = ::read(descriptor_, out, static_cast<std::size_t>(size));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw RunError(str_cat(path_, ": cannot be read: ", std::generic_category().message(errno)));
      if (got == 0) throw RunError(str_cat(path_, ": became shorter while it was read"));
      out += got;
      size -= got;
    }
  }

 private:
  std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
  std::pair<uint64_t, uint64_t> identity_;
};

/// Appends tokens in the narrowest type.
class TokenWriter {
 public:
  TokenWriter(const std::string& path, TokenType type) : file_(path), width_(size_of(type)) {}

  void append(const std::vector<uint32_t>& tokens) {
    buffer_.resize(tokens.size() * static_cast<std::size_t>(width_));
    char* out = buffer_.data();
    for (const uint32_t token : tokens)
      for (int64_t byte = 0; byte < width_; ++byte) *out++ = static_cast<char>(token >> (8 * byte));
    file_.write(buffer_);
  }
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
  int64_t width_;
  std::string buffer_;
};

/// Tells the bytes read so far.
class Meter {
 public:
  Meter(Progress& progress, int64_t total) : progress_(progress), total_(total) {}
  void add(int64_t bytes) {
    done_ += bytes;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    progress_.report({"prepare", "bytes", done_, total_, seconds > 0 ? static_cast<double>(done_) / seconds : 0});
  }

 private:
  Progress& progress_;
  int64_t total_;
  int64_t done_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Writes the splits of one folder, in order, from sources read in order.
class SplitWriter {
 public:
  SplitWriter(const AtomicFolder& folder, const Tokenizer& tokenizer, Meter& meter)
      : folder_(folder), tokenizer_(tokenizer), meter_(meter), piece_(static_cast<std::size_t>(kPiece), '\0') {}

  void begin(const std::string& split) {
    name_ = split;
    info_ = {};
    writer_.emplace(folder_ / (split + ".bin"), token_type_for(tokenizer_.vocabulary_size()));
    borders_.emplace(folder_ / documents_file(split));
  }
  /// The next `size` bytes of `source`, one more document of the split.
  void add(Source& source, int64_t size) {
    if (size == 0) return;
    ++info_.documents;
    const auto border = static_cast<uint64_t>(info_.tokens);
    borders_->write(&border, sizeof(border));
    while (size > 0) {
      const int64_t part = std::min(size, kPiece);
      source.read(piece_.data(), part);
      // Exact for tokenizers whose tokens do not cross the border of a piece: one token per byte.
      const auto tokens = tokenizer_.encode(std::string_view(piece_.data(), static_cast<std::size_t>(part)));
      writer_->append(tokens);
      info_.tokens += static_cast<int64_t>(tokens.size());
      info_.source_bytes += part;
      meter_.add(part);
      size -= part;
    }
  }
  void end() {
    writer_->commit();
    writer_.reset();
    borders_->commit();
    borders_.reset();
    splits_[name_] = info_;
  }
  const std::map<std::string, SplitInfo>& splits() const { return splits_; }

 private:
  const AtomicFolder& folder_;
  const Tokenizer& tokenizer_;
  Meter& meter_;
  std::string piece_;
  std::string name_;
  SplitInfo info_;
  std::optional<TokenWriter> writer_;
  std::optional<AtomicFile> borders_;
  std::map<std::string, SplitInfo> splits_;
};

using Sources = std::vector<std::unique_ptr<Source>>;

Sources open_all(const std::vector<std::string>& paths) {
  Sources out;
  for (const auto& path : paths) out.push_back(std::make_unique<Source>(path));
  return out;
}

int64_t total_size(const Sources& sources) {
  int64_t total = 0;
  for (const auto& source : sources) total += source->size();
  return total;
}

void check_disjoint(const Sources& inputs, const Sources& held_out) {
  for (const auto& a : inputs)
    for (const auto& b : held_out)
      LONGSPAN_CHECK(a->identity() != b->identity(), b->path(), ": is held out and trained on at once");
}

void check_output(const DatasetOptions& options) {
  std::error_code ignored;
  LONGSPAN_CHECK(!options.output.empty(), "prepare: no output folder given");
  if (!fs::exists(options.output, ignored) || fs::is_empty(options.output, ignored)) return;
  LONGSPAN_CHECK(Dataset::is_dataset(options.output), options.output, ": exists and is not a data set");
  LONGSPAN_CHECK(options.overwrite, options.output, ": a data set exists there already");
}

/// Replacing the output would take the text with it.
void check_outside(const std::vector<std::string>& paths, const std::string& output) {
  std::error_code error;
  const fs::path folder = fs::canonical(output, error);
  if (error) return;  // not there yet, so nothing lies in it
  for (const auto& path : paths) {
    const fs::path file = fs::canonical(path, error);
    if (error) continue;  // opening it says what is wrong
    const auto [rest, unused] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
    LONGSPAN_CHECK(rest != folder.end(), path, ": lies inside the output folder ", output);
  }
}

/// All that a data set may hold, and so all that is replaced with it.
std::vector<std::string> dataset_files() {
  std::vector<std::string> names = {kDatasetFile, kTokenizerFile};
  for (const auto split : kSplits) {
    names.push_back(str_cat(split, ".bin"));
    names.push_back(documents_file(split));
  }
  return names;
}

void save_description(const AtomicFolder& folder, const Tokenizer& tokenizer,
                      const std::map<std::string, SplitInfo>& splits) {
  Json json;
  json["format_version"] = kDatasetVersion;
  json["tokenizer"] = tokenizer.name();
  json["vocabulary"] = tokenizer.vocabulary_size();
  json["dtype"] = name_of(token_type_for(tokenizer.vocabulary_size()));
  for (const auto& [name, info] : splits)
    json["splits"][name] = {
        {"tokens", info.tokens}, {"source_bytes", info.source_bytes}, {"documents", info.documents}};
  save_json(folder / kDatasetFile, json);
}

}  // namespace

std::map<std::string, SplitInfo> write_dataset(const DatasetOptions& options, Progress& progress) {
  LONGSPAN_CHECK(!options.inputs.empty(), "prepare: no input file given");
  LONGSPAN_CHECK(options.valid_fraction > 0 && options.valid_fraction <= 0.5,
                 "prepare: valid_fraction must be above 0 and at most 0.5, got ", options.valid_fraction);
  check_output(options);
  check_outside(options.inputs, options.output);
  check_outside(options.held_out, options.output);
  const Sources inputs = open_all(options.inputs);
  const Sources held_out = open_all(options.held_out);
  check_disjoint(inputs, held_out);

  const int64_t total = total_size(inputs);
  const int64_t valid = std::max(kMinimumValidBytes,
                                 static_cast<int64_t>(std::floor(options.valid_fraction * static_cast<double>(total))));
  LONGSPAN_CHECK(total - valid >= kMinimumValidBytes,
                 "prepare: nothing to hold out for validation: the training text has ", total, " bytes, at least ",
                 2 * kMinimumValidBytes, " are needed");

  const ByteTokenizer tokenizer;
  AtomicFolder folder(options.output, options.overwrite ? dataset_files() : std::vector<std::string>());
  Meter meter(progress, total + total_size(held_out));
  SplitWriter writer(folder, tokenizer, meter);

  // The cut between train and valid may fall into any file: each gives first what is left of `train`.
  writer.begin("train");
  int64_t left = total - valid;
  std::size_t first_valid = 0;
  int64_t used = 0;  // bytes of inputs[first_valid] that went to train
  for (; first_valid < inputs.size(); ++first_valid) {
    used = std::min(left, inputs[first_valid]->size());
    writer.add(*inputs[first_valid], used);
    left -= used;
    if (used < inputs[first_valid]->size()) break;
  }
  writer.end();
  writer.begin("valid");
  for (std::size_t i = first_valid; i < inputs.size(); ++i)
    writer.add(*inputs[i], inputs[i]->size() - (i == first_valid ? used : 0));
  writer.end();
  if (!held_out.empty()) {
    writer.begin("test");
    for (const auto& source : held_out) writer.add(*source, source->size());
    writer.end();
  }

  save_tokenizer(folder / "", tokenizer);
  save_description(folder, tokenizer, writer.splits());
  folder.commit();
  return writer.splits();
}

}  // namespace longspan
