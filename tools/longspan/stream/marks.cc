#include "marks.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "longspan/text/utf8.h"
#include "visible.h"

namespace longspan::tool {

namespace {

bool more_surprising(const Mark& a, const Mark& b) { return a.bits != b.bits ? a.bits > b.bits : a.offset < b.offset; }

std::vector<int> numbers_of(std::string_view bytes) {
  std::vector<int> numbers;
  for (const char byte : bytes) numbers.push_back(static_cast<unsigned char>(byte));
  return numbers;
}

}  // namespace

std::string to_line(const Mark& mark, bool colour) {
  const std::string token = visible(mark.text);
  return str_cat("offset ", report::pad_left(std::to_string(mark.offset), 10), "  line ",
                 report::pad_left(std::to_string(mark.line), 7), "  ", report::pad_left(report::fixed(mark.bits, 2), 6),
                 " bits  ", visible(from_whole_character(mark.context)), colour ? "\x1b[1;31m" : "[", token,
                 colour ? "\x1b[0m" : "]");
}

Json to_json(const Mark& mark) {
  Json json = {{"event", "mark"},   {"offset", mark.offset}, {"line", mark.line},
               {"bits", mark.bits}, {"text", mark.text},     {"context", from_whole_character(mark.context)}};
  if (invalid_utf8(mark.text) != std::string::npos) json["bytes"] = numbers_of(mark.text);
  if (invalid_utf8(mark.context) != std::string::npos) json["context_bytes"] = numbers_of(mark.context);
  return json;
}

bool TopMarks::wants(double bits) const { return heap_.size() < most_ || (most_ > 0 && bits > heap_.front().bits); }

void TopMarks::add(Mark mark) {
  if (!wants(mark.bits)) return;
  if (heap_.size() == most_) {
    std::pop_heap(heap_.begin(), heap_.end(), more_surprising);
    heap_.pop_back();
  }
  heap_.push_back(std::move(mark));
  std::push_heap(heap_.begin(), heap_.end(), more_surprising);
}

std::vector<Mark> TopMarks::sorted() const {
  std::vector<Mark> out = heap_;
  std::sort(out.begin(), out.end(), more_surprising);
  return out;
}

}  // namespace longspan::tool
