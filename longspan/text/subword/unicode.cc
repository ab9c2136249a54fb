#include "longspan/text/subword/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "longspan/base/check.h"
#include "longspan/base/utf8_character.h"

namespace longspan::unicode {

Character first(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte < 0x80) return {byte, 1};
  utf8proc_int32_t code = -1;
  const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     static_cast<utf8proc_ssize_t>(std::min<std::size_t>(text.size(), 4)), &code);
  if (size <= 0) return {0xFFFD, 1};
  return {code, static_cast<std::size_t>(size)};
}

Character before(std::string_view text, std::size_t end) {
  std::size_t begin = end - 1;
  while (begin > 0 && end - begin < 4 && continues_character(text[begin])) --begin;
  return first(text.substr(begin, end - begin));
}

void append(std::string& out, int32_t code) {
  utf8proc_uint8_t bytes[4];
  const auto size = utf8proc_encode_char(code, bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

bool is_white_space(int32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
         code == 0x3000;
}

bool is_letter(int32_t code) {
  const auto category = utf8proc_category(code);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
bool is_number(int32_t code) {
  const auto category = utf8proc_category(code);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}
bool is_punctuation(int32_t code) {
  const auto category = utf8proc_category(code);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}
bool is_nonspacing(int32_t code) { return utf8proc_category(code) == UTF8PROC_CATEGORY_MN; }
bool is_mark(int32_t code) {
  const auto category = utf8proc_category(code);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}
bool is_other(int32_t code) {
  const auto category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO;
}
bool is_word(int32_t code) {
  const auto category = utf8proc_category(code);
  return is_letter(code) || is_mark(code) || category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_PC || code == 0x200C || code == 0x200D || (code >= 0x24B6 && code <= 0x24E9) ||
         (code >= 0x1F130 && code <= 0x1F149) || (code >= 0x1F150 && code <= 0x1F169) ||
         (code >= 0x1F170 && code <= 0x1F189);
}

std::string normalized(std::string_view text, Form form) {
  int options = UTF8PROC_STABLE;
  if (form == Form::nfc || form == Form::nfkc) options |= UTF8PROC_COMPOSE;
  if (form == Form::nfd || form == Form::nfkd) options |= UTF8PROC_DECOMPOSE;
  if (form == Form::nfkc || form == Form::nfkd) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* out = nullptr;
  const auto size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &out, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(out, &std::free);
  if (size == UTF8PROC_ERROR_NOMEM) throw std::bad_alloc();
  LONGSPAN_ASSERT(size >= 0, "utf8proc: ", utf8proc_errmsg(size));
  return {reinterpret_cast<const char*>(out), static_cast<std::size_t>(size)};
}

void append_lower(std::string& out, int32_t code) {
  append(out, utf8proc_tolower(code));
  if (code == 0x130) out += "\xCC\x87";  // the one character whose lower case is two: i and U+0307
}

bool joins(int32_t left, int32_t right, int32_t& state) {
  return !utf8proc_grapheme_break_stateful(left, right, &state);
}

}  // namespace longspan::unicode
