#include "tools/longspan/task/record_flags.h"

#include <CLI/CLI.hpp>
#include <map>

#include "longspan/base/check.h"

namespace longspan::tool {

namespace {

const std::map<std::string, RecordFormat> kFormats = {{"auto", RecordFormat::automatic},
                                                      {"jsonl", RecordFormat::jsonl},
                                                      {"csv", RecordFormat::csv},
                                                      {"text", RecordFormat::text}};

constexpr const char* kGroup = "Files of examples";

}  // namespace

void RecordFlags::add(CLI::App& app) {
  const auto text = [&](const char* flag, std::string& value, const std::string& help) {
    app.add_option(flag, value, help + (value.empty() ? "" : " (default: " + value + ")"))->group(kGroup);
  };
  app.add_option("--format", format_, "auto (by the name), jsonl, csv or text (default: auto)")
      ->check(CLI::IsMember(kFormats))
      ->group(kGroup);
  text("--text-field", options_.text_field, "field or column of the text");
  text("--label-field", options_.label_field, "of the label, for classification");
  text("--labels-field", options_.labels_field, "of the labels, for multi_label");
  text("--question-field", options_.question_field, "of the question");
  text("--context-field", options_.context_field, "of the text that has the answer");
  text("--answers-field", options_.answers_field, "of the answers: texts, or objects with text and start");
  text("--aliases-field", options_.aliases_field, "of more right answers, which need not stand in the text");
  text("--candidates-field", options_.candidates_field, "of the candidates, for choice");
  text("--supports-field", options_.supports_field, "of the texts to choose by, where there is no context");
  text("--answer-field", options_.answer_field, "of the right candidate");
  text("--id-field", options_.id_field, "of a name of the record, which predictions carry");
  text("--delimiter", delimiter_, "between the columns of CSV (default: a comma, in .tsv files a tab)");
  text("--list-separator", options_.list_separator, "between the labels or candidates of one cell of CSV");
  documents_.add(app, kGroup);
}

RecordOptions RecordFlags::options(const std::vector<std::string>& inputs) const {
  RecordOptions out = options_;
  out.inputs = inputs;
  out.format = kFormats.at(format_);
  LONGSPAN_CHECK(delimiter_.empty() || delimiter_.size() == 1 || delimiter_ == "\\t",
                 "--delimiter: expected one character, got '", delimiter_, "'");
  if (!delimiter_.empty()) out.delimiter = delimiter_ == "\\t" ? '\t' : delimiter_.front();
  out.documents = documents_.rule();
  out.separator = documents_.separator();
  return out;
}

}  // namespace longspan::tool
