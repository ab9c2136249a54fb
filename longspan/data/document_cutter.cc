#include "longspan/data/document_cutter.h"

#include <algorithm>
#include <utility>

#include "longspan/base/check.h"

namespace longspan {

DocumentCutter::DocumentCutter(DocumentRule rule, std::string separator, OnText on_text, OnEnd on_end)
    : rule_(rule), separator_(std::move(separator)), on_text_(std::move(on_text)), on_end_(std::move(on_end)) {
  LONGSPAN_CHECK((rule == DocumentRule::separator) == !separator_.empty(),
                 "prepare: a separator of documents must be given with the rule 'separator', and only with it");
}

void DocumentCutter::push(std::string_view bytes) {
  switch (rule_) {
    case DocumentRule::file:
      emit(bytes);
      break;
    case DocumentRule::line:
    case DocumentRule::blank:
      push_lines(bytes);
      break;
    case DocumentRule::separator:
      push_separated(bytes);
      break;
  }
}

void DocumentCutter::finish() {
  emit(std::exchange(held_, {}));
  on_end_();
  has_text_ = at_border_ = false;
  empty_line_ = true;
  offset_ = 0;
}

void DocumentCutter::emit(std::string_view text) {
  if (text.empty()) return;
  on_text_(text, offset_);
  offset_ += static_cast<int64_t>(text.size());
}

void DocumentCutter::push_lines(std::string_view bytes) {
  std::size_t begin = 0;  // of what is not emitted yet
  for (std::size_t i = 0; i < bytes.size();) {
    if (bytes[i] == '\n') {
      if (has_text_ && (rule_ == DocumentRule::line || empty_line_)) at_border_ = true;
      empty_line_ = true;
      ++i;
    } else if (bytes[i] == '\r' && empty_line_) {
      ++i;
    } else {
      if (at_border_) {
        emit(bytes.substr(begin, i - begin));
        begin = i;
        on_end_();
        at_border_ = false;
      }
      has_text_ = true;
      empty_line_ = false;
      i = std::min(bytes.find('\n', i), bytes.size());
    }
  }
  emit(bytes.substr(begin));
}

void DocumentCutter::push_separated(std::string_view bytes) {
  const std::string text = std::exchange(held_, {}) + std::string(bytes);
  std::size_t begin = 0;
  for (std::size_t at; (at = text.find(separator_, begin)) != std::string::npos; begin = at + separator_.size()) {
    emit(std::string_view(text).substr(begin, at - begin));
    offset_ += static_cast<int64_t>(separator_.size());
    on_end_();
  }
  // What could be the start of a separator waits for the next bytes.
  const std::size_t keep = std::min(separator_.size() - 1, text.size() - begin);
  emit(std::string_view(text).substr(begin, text.size() - begin - keep));
  held_ = text.substr(text.size() - keep);
}

}  // namespace longspan
