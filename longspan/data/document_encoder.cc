#include "longspan/data/document_encoder.h"

#include <utility>

#include "longspan/base/check.h"
#include "longspan/text/utf8.h"

namespace longspan {

namespace {

constexpr std::size_t kBatch = std::size_t{4} << 20;
/// Text of one task: many lines, so that handing out tasks costs nothing.
constexpr std::size_t kTask = std::size_t{1} << 16;
/// Of short documents; bounds the bookkeeping.
constexpr std::size_t kMostJobs = std::size_t{1} << 17;

}  // namespace

DocumentEncoder::DocumentEncoder(const Tokenizer& tokenizer, const Parallel& parallel)
    : tokenizer_(tokenizer), parallel_(parallel), pieces_(tokenizer) {}

void DocumentEncoder::begin_file(std::string name) { files_.push_back(std::move(name)); }

void DocumentEncoder::begin_document(SplitWriter& writer) {
  writer_ = &writer;
  begins_ = true;
}

void DocumentEncoder::text(std::string_view bytes, int64_t offset) {
  if (tokenizer_.is_bytewise()) {  // as fast as the disk: no batch
    if (std::exchange(begins_, false)) writer_->begin_document();
    writer_->append(tokenizer_.encode(bytes), {});
    return;
  }
  pieces_.push(bytes);
  end_ = offset + static_cast<int64_t>(bytes.size());
  take_pieces();
}

void DocumentEncoder::end_document() {
  if (tokenizer_.is_bytewise()) {
    writer_->end_document();
    return;
  }
  pieces_.finish();
  take_pieces();
  add({}, end_, true);
}

void DocumentEncoder::take_pieces() {
  for (std::string_view piece; pieces_.next(piece);)
    add(piece, end_ - static_cast<int64_t>(pieces_.waiting() + piece.size()), false);
}

void DocumentEncoder::add(std::string_view piece, int64_t offset, bool ends) {
  jobs_.push_back(
      {writer_, batch_.size(), piece.size(), files_.size() - 1, offset, std::exchange(begins_, false), ends, {}, {}});
  batch_ += piece;
  if (batch_.size() >= kBatch || jobs_.size() >= kMostJobs) flush();
}

void DocumentEncoder::encode(Job& job) const {
  const std::string_view piece = std::string_view(batch_).substr(job.begin, job.size);
  if (!tokenizer_.reads_any_bytes()) job.fault = utf8_fault(piece, job.offset);
  if (job.fault.empty()) job.encoding = tokenizer_.encode_aligned(piece);
}

void DocumentEncoder::flush() {
  std::vector<std::size_t> tasks = {0};  // first job of each, and the end
  std::size_t size = 0;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    size += jobs_[i].size;
    if (size < kTask && i + 1 < jobs_.size()) continue;
    tasks.push_back(i + 1);
    size = 0;
  }
  parallel_.run(static_cast<int64_t>(tasks.size()) - 1, [&](int64_t task, int) {
    const auto first = static_cast<std::size_t>(task);
    for (std::size_t i = tasks[first]; i < tasks[first + 1]; ++i) encode(jobs_[i]);
  });
  for (Job& job : jobs_) {
    LONGSPAN_CHECK(job.fault.empty(), files_[job.file], ": ", job.fault);
    if (job.begins) job.writer->begin_document();
    if (job.encoding.tokens.empty())
      job.writer->append_silent(static_cast<int64_t>(job.size));
    else
      job.writer->append(job.encoding.tokens, job.encoding.source_bytes);
    if (job.ends) job.writer->end_document();
  }
  jobs_.clear();
  batch_.clear();
  if (files_.size() > 1) files_.erase(files_.begin(), files_.end() - 1);
}

}  // namespace longspan
