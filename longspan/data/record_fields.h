// From the fields of a JSON object to a record.
#pragma once

#include <string>
#include <string_view>

#include "longspan/data/records.h"
#include "longspan/io/json.h"

namespace longspan::internal {

/// Throws InputError "<place>: ..." for what is no such record (see records.h).
TextRecord text_record(const Json& object, const RecordOptions& options, RecordLabels labels, RecordPlace place);
QuestionRecord question_record(const Json& object, const RecordOptions& options, RecordPlace place);
ChoiceRecord choice_record(const Json& object, const RecordOptions& options, RecordPlace place);

/// The spans of the answers in `context`; `field` is their name in messages.
std::vector<AnswerSpan> answer_spans(const Json& answers, std::string_view field, std::string_view context,
                                     const RecordPlace& place);

/// A text in a message: quoted, its beginning where it is long, without line breaks.
std::string excerpt(std::string_view text);

}  // namespace longspan::internal
