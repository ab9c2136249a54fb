#include "longspan/data/line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/data/records.h"

namespace longspan {

namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18;
constexpr std::string_view kMark = "\xEF\xBB\xBF";

}  // namespace

std::string_view without_byte_order_mark(std::string_view start, const std::string& name) {
  LONGSPAN_CHECK(!start.starts_with("\xFF\xFE") && !start.starts_with("\xFE\xFF"), name,
                 ": is UTF-16, by its first bytes; convert it to UTF-8");
  if (start.starts_with(kMark)) start.remove_prefix(kMark.size());
  return start;
}

LineReader::LineReader(ByteSource& source, std::string name)
    : source_(source), name_(std::move(name)), buffer_(kBuffer) {}

void LineReader::fill() {
  at_ = 0;
  end_ = source_.read(buffer_.data(), buffer_.size());
  ended_ = end_ == 0;
}

void LineReader::begin() {
  while (end_ < kMark.size() && !ended_) {  // a pipe may bring single bytes
    const std::size_t got = source_.read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += got;
    ended_ = got == 0;
  }
  any_ = end_ > 0;
  at_ = end_ - without_byte_order_mark({buffer_.data(), end_}, name_).size();
}

bool LineReader::next(std::string_view& line) {
  if (number_ == 0) begin();
  ++number_;
  held_.clear();
  while (true) {
    if (at_ == end_ && !ended_) fill();
    const std::string_view rest(buffer_.data() + at_, end_ - at_);
    const std::size_t feed = rest.find('\n');
    const std::size_t size = std::min(feed, rest.size());
    LONGSPAN_CHECK(held_.size() + size <= static_cast<std::size_t>(kLargestRecord), name_, ":", number_,
                   ": the line is longer than ", kLargestRecord, " bytes");
    if (feed != std::string_view::npos) at_ += feed + 1;
    if (feed != std::string_view::npos && held_.empty()) {
      line = rest.substr(0, feed);
      return true;
    }
    held_ += rest.substr(0, size);
    if (feed == std::string_view::npos) at_ = end_;
    if (feed != std::string_view::npos || ended_) {
      line = held_;
      return feed != std::string_view::npos || !held_.empty();
    }
  }
}

}  // namespace longspan
