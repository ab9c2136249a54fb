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
  record.place = std::move(place);
  return record;
}

QuestionRecord question_record(const Json& object, const RecordOptions& options, RecordPlace place) {
  QuestionRecord record;
  record.question = text_of(object, options.question_field, place);
  record.context = text_of(object, options.context_field, place);
  if (options.read_answers)
    record.answers =
        answer_spans(field_of(object, options.answers_field, place), options.answers_field, record.context, place);
  record.place = std::move(place);
  return record;
}

}  // namespace longspan::internal
