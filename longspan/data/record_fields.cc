#include "longspan/data/record_fields.h"

#include <algorithm>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/text/utf8.h"

namespace longspan::internal {

namespace {

const Json& field_of(const Json& object, const std::string& name, const RecordPlace& place) {
  if (const auto at = object.find(name); at != object.end()) return *at;
  std::string names;
  for (const auto& [other, value] : object.items()) names += (names.empty() ? "" : ", ") + other;
  throw InputError(str_cat(place.text(), ": has no field '", name, "'", names.empty() ? "" : ", only: ", names));
}

std::string text_of(const Json& object, const std::string& name, const RecordPlace& place) {
  const Json& value = field_of(object, name, place);
  LONGSPAN_CHECK(value.is_string(), place.text(), ": '", name, "' must be text, got ", value.type_name());
  const auto& text = value.get_ref<const std::string&>();
  LONGSPAN_CHECK(!text.empty(), place.text(), ": '", name, "' is empty");
  return text;
}

std::string label_of(const Json& value, const std::string& name, const RecordPlace& place) {
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number_integer()) return value.dump();
  LONGSPAN_CHECK(value.is_string(), place.text(), ": '", name, "' must be text, a whole number, true or false, got ",
                 value.type_name());
  const auto& text = value.get_ref<const std::string&>();
  LONGSPAN_CHECK(!text.empty(), place.text(), ": '", name, "' is empty");
  const std::string fault = utf8_fault(text, 0);  // also where texts are bytes: labels are names in files of JSON
  LONGSPAN_CHECK(fault.empty(), place.text(), ": '", name, "' ", fault);
  return text;
}

std::vector<std::string> labels_of(const Json& value, const std::string& name, const RecordPlace& place) {
  if (!value.is_array()) return {label_of(value, name, place)};
  std::vector<std::string> labels;
  for (const Json& entry : value)
    if (std::string label = label_of(entry, name, place);
        std::find(labels.begin(), labels.end(), label) == labels.end())
      labels.push_back(std::move(label));
  return labels;
}

/// A text or a whole number as text; "" where the field is not there or null.
std::string id_of(const Json& object, const std::string& name, const RecordPlace& place) {
  const auto at = object.find(name);
  if (at == object.end() || at->is_null()) return "";
  if (at->is_number_integer()) return at->dump();
  LONGSPAN_CHECK(at->is_string(), place.text(), ": '", name, "' must be text or a whole number, got ", at->type_name());
  return at->get<std::string>();
}

/// A list of texts, or one alone; none of them empty.
std::vector<std::string> texts_of(const Json& value, const std::string& name, const RecordPlace& place) {
  std::vector<std::string> texts;
  for (const Json& entry : value.is_array() ? value : Json::array({value})) {
    LONGSPAN_CHECK(entry.is_string(), place.text(), ": '", name, "' must be texts, got ", entry.type_name());
    LONGSPAN_CHECK(!entry.get_ref<const std::string&>().empty(), place.text(), ": '", name, "' has an empty text");
    texts.push_back(entry.get<std::string>());
  }
  return texts;
}

}  // namespace

std::string excerpt(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string out(text.substr(0, whole_characters(text.substr(0, kMost))));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return "'" + out + (text.size() > out.size() ? "...'" : "'");
}

TextRecord text_record(const Json& object, const RecordOptions& options, RecordLabels labels, RecordPlace place) {
  TextRecord record;
  record.text = text_of(object, options.text_field, place);
  if (labels == RecordLabels::one)
    record.labels = {label_of(field_of(object, options.label_field, place), options.label_field, place)};
  else if (labels == RecordLabels::several)
    record.labels = labels_of(field_of(object, options.labels_field, place), options.labels_field, place);
  record.id = id_of(object, options.id_field, place);
  record.place = std::move(place);
  return record;
}

QuestionRecord question_record(const Json& object, const RecordOptions& options, RecordPlace place) {
  QuestionRecord record;
  record.question = text_of(object, options.question_field, place);
  record.context = text_of(object, options.context_field, place);
  if (options.read_answers) {
    record.answers =
        answer_spans(field_of(object, options.answers_field, place), options.answers_field, record.context, place);
    if (const auto aliases = object.find(options.aliases_field); aliases != object.end() && !aliases->is_null())
      record.aliases = texts_of(*aliases, options.aliases_field, place);
  }
  record.id = id_of(object, options.id_field, place);
  record.place = std::move(place);
  return record;
}

ChoiceRecord choice_record(const Json& object, const RecordOptions& options, RecordPlace place) {
  ChoiceRecord record;
  record.question = text_of(object, options.question_field, place);
  const auto context = object.find(options.context_field);
  const bool has_context = context != object.end() && !context->is_null();
  const std::string& field =
      has_context || !object.contains(options.supports_field) ? options.context_field : options.supports_field;
  for (const std::string& text : texts_of(field_of(object, field, place), field, place))
    record.context += (record.context.empty() ? "" : "\n") + text;
  LONGSPAN_CHECK(!record.context.empty(), place.text(), ": '", field, "' is empty");
  const std::string& name = options.candidates_field;
  record.candidates = texts_of(field_of(object, name, place), name, place);
  const auto& all = record.candidates;
  LONGSPAN_CHECK(all.size() >= 2, place.text(), ": '", name, "' must have at least two texts, got ", all.size());
  for (auto each = all.begin(); each != all.end(); ++each)
    LONGSPAN_CHECK(std::find(all.begin(), each, *each) == each, place.text(), ": the candidate ", excerpt(*each),
                   " stands twice");
  if (options.read_answers) {
    const std::string answer = text_of(object, options.answer_field, place);
    record.answer = std::find(all.begin(), all.end(), answer) - all.begin();
    LONGSPAN_CHECK(record.answer < static_cast<int64_t>(all.size()), place.text(), ": the answer ", excerpt(answer),
                   " is none of the ", all.size(), " candidates");
  }
  record.id = id_of(object, options.id_field, place);
  record.place = std::move(place);
  return record;
}

}  // namespace longspan::internal
