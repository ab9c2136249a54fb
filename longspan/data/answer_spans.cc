#include <algorithm>
#include <optional>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/base/utf8_character.h"
#include "longspan/data/record_fields.h"

namespace longspan::internal {

namespace {

/// Finds answers in one context.
class Finder {
 public:
  Finder(std::string_view field, std::string_view context, const RecordPlace& place)
      : field_(field), context_(context), place_(place) {}

  /// One answer.
  AnswerSpan span(const Json& answer) const {
    if (answer.is_string()) return first(text_of(answer));
    if (!answer.is_object()) fail("'", field_, "' must be texts or objects, got ", answer.type_name());
    const auto text = answer.find("text"), start = answer.find("start"), end = answer.find("end"),
               character = answer.find("answer_start");
    const auto none = answer.end();
    if (start != none && character != none) fail("an answer has both 'start' (bytes) and 'answer_start' (characters)");
    if (text == none && (start == none || end == none)) fail("an answer has neither 'text' nor both 'start' and 'end'");
    if (start == none && character == none) {
      if (end != none) fail("an answer has 'end' but no 'start'");
      return first(text_of(*text));
    }
    const bool bytes = start != none;
    const int64_t given = bytes ? number(*start, "start") : number(*character, "answer_start");
    const int64_t begin = bytes ? given : byte_of(given);
    if (text == none) return within(begin, number(*end, "end"));
    const std::string wanted = text_of(*text);
    const auto size = static_cast<int64_t>(wanted.size());
    if (end != none && bytes && number(*end, "end") != begin + size)
      fail("the answer ", excerpt(wanted), " has ", size, " bytes, but 'end' - 'start' is ",
           number(*end, "end") - begin);
    check_border(begin);
    const std::string_view there =
        context_.substr(std::min(static_cast<std::size_t>(begin), context_.size()), wanted.size());
    if (there != wanted)
      fail("the answer ", excerpt(wanted), " is not at ", bytes ? "byte " : "character ", given,
           " of the context, where ", there.empty() ? std::string("it has ended") : excerpt(there) + " stands");
    return within(begin, begin + size);
  }

  /// {"text": [...], "answer_start": [...]} as a list of objects.
  std::vector<Json> entries(const Json& lists) const {
    std::vector<Json> out;
    std::optional<std::size_t> size;
    for (const auto& [name, list] : lists.items()) {
      if (!list.is_array()) continue;
      if (size && *size != list.size())
        fail("the lists of '", field_, "' differ in length: ", *size, " and ", list.size());
      size = list.size();
      out.resize(*size, Json::object());
      for (std::size_t i = 0; i < list.size(); ++i) out[i][name] = list[i];
    }
    return out;
  }

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw InputError(str_cat(place_.text(), ": ", parts...));
  }

 private:
  std::string text_of(const Json& text) const {
    if (!text.is_string()) fail("the text of an answer must be text, got ", text.type_name());
    if (text.get_ref<const std::string&>().empty()) fail("an answer is empty");
    return text.get<std::string>();
  }
  int64_t number(const Json& value, const char* name) const {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(kLargestRecord))
      fail("'", name, "' of an answer must be a whole number from 0 to ", kLargestRecord, ", got ", value.dump());
    return value.get<int64_t>();
  }
  AnswerSpan first(const std::string& text) const {
    const std::size_t at = context_.find(text);
    if (at == std::string_view::npos) fail("the answer ", excerpt(text), " is not in the context");
    return {static_cast<int64_t>(at), static_cast<int64_t>(at + text.size())};
  }
  /// The byte at which a character begins.
  int64_t byte_of(int64_t character) const {
    std::size_t at = 0;
    for (int64_t i = 0; i < character && at < context_.size(); ++i)
      at += std::max<std::size_t>(1, utf8_character(context_.substr(at)));
    return static_cast<int64_t>(at);
  }
  AnswerSpan within(int64_t begin, int64_t end) const {
    const auto size = static_cast<int64_t>(context_.size());
    if (begin >= end || end > size)
      fail("an answer from byte ", begin, " to ", end, " is empty or beyond the ", size, " bytes of the context");
    check_border(begin);
    check_border(end);
    return {begin, end};
  }
  void check_border(int64_t at) const {
    if (at < static_cast<int64_t>(context_.size()) && continues_character(context_[static_cast<std::size_t>(at)]))
      fail("byte ", at, " of the context, a border of an answer, is within a character");
  }

  std::string_view field_, context_;
  const RecordPlace& place_;
};

}  // namespace

std::vector<AnswerSpan> answer_spans(const Json& answers, std::string_view field, std::string_view context,
                                     const RecordPlace& place) {
  const Finder finder(field, context, place);
  std::vector<AnswerSpan> spans;
  const auto add = [&](const Json& answer) {
    const AnswerSpan span = finder.span(answer);
    if (std::find(spans.begin(), spans.end(), span) == spans.end()) spans.push_back(span);
  };
  const bool lists = answers.is_object() &&
                     std::any_of(answers.begin(), answers.end(), [](const Json& value) { return value.is_array(); });
  if (lists)
    for (const Json& answer : finder.entries(answers)) add(answer);
  else if (answers.is_array())
    for (const Json& answer : answers) add(answer);
  else
    add(answers);
  return spans;
}

}  // namespace longspan::internal
