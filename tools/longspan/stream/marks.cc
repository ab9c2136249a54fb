#include "marks.h"

#include <algorithm>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "visible.h"

namespace longspan::tool {

namespace {

bool more_surprising(const Mark& a, const Mark& b) { return a.bits != b.bits ? a.bits > b.bits : a.offset < b.offset; }

}  // namespace

std::string to_line(const Mark& mark, bool colour) {
  const std::string token = visible(mark.text);
  return str_cat("offset ", report::pad_left(std::to_string(mark.offset), 10), "  line ",
                 report::pad_left(std::to_string(mark.line), 7), "  ", report::pad_left(report::fixed(mark.bits, 2), 6),
                 " bits  ", visible(from_whole_character(mark.context)), colour ? "\x1b[1;31m" : "[", token,
                 colour ? "\x1b[0m" : "]");
}

Json to_json(const Mark& mark) {
  return {{"event", "mark"},   {"offset", mark.offset},      {"line", mark.line},
          {"bits", mark.bits}, {"text", visible(mark.text)}, {"context", visible(from_whole_character(mark.context))}};
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
