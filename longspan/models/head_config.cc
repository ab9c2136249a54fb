#include <set>

#include "longspan/models/encoder_heads.h"

namespace longspan::models {

namespace {

constexpr std::size_t kMostLabels = 1 << 20;

bool has_labels(HeadKind kind) { return kind == HeadKind::classification || kind == HeadKind::multi_label; }

}  // namespace

const std::vector<std::string>& head_kinds() {
  static const std::vector<std::string> names = {"masked_language", "classification", "multi_label", "question",
                                                 "choice"};
  return names;
}

std::string to_string(HeadKind kind) { return head_kinds().at(static_cast<std::size_t>(kind)); }

HeadKind head_kind(const std::string& name) {
  const auto& names = head_kinds();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<HeadKind>(i);
  const std::string near = nearest_name(name, names);
  throw InputError(str_cat("unknown kind of task '", name, "'",
                           near.empty() ? "; known: masked_language classification multi_label question choice"
                                        : "; did you mean '" + near + "'?"));
}

const FieldTable<HeadConfig>& head_fields() {
  using C = HeadConfig;
  static const auto table =
      FieldTable<C>("head")
          .choice("kind", &C::kind,
                  {{"masked_language", HeadKind::masked_language},
                   {"classification", HeadKind::classification},
                   {"multi_label", HeadKind::multi_label},
                   {"question", HeadKind::question},
                   {"choice", HeadKind::choice}},
                  "what the model is to tell")
          .choice("pooling", &C::pooling, {{"first", Pooling::first}, {"mean", Pooling::mean}},
                  "classification: what of a sequence is looked at, its first token or the mean of all")
          .choice(
              "global_tokens", &C::global_tokens,
              {{"attention", GlobalTokens::attention}, {"task", GlobalTokens::task}},
              "tokens that see all, in an attention that has such: those that it chooses, or the first one and those "
              "of the question and its candidates")
          .integer("answer_tokens", &C::answer_tokens, {1, 1 << 20}, "question: tokens of the longest answer")
          .boolean("may_be_empty", &C::may_be_empty, "question: a context need not have the answer");
  return table;
}

void validate(const HeadConfig& config) {
  head_fields().validate(config);
  const std::string kind = to_string(config.kind);
  const std::size_t labels = config.labels.size();
  if (has_labels(config.kind)) {
    const std::size_t least = config.kind == HeadKind::classification ? 2 : 1;
    LONGSPAN_CHECK(labels >= least && labels <= kMostLabels, "head: ", kind, " needs from ", least, " to ", kMostLabels,
                   " labels, got ", labels);
    LONGSPAN_CHECK(std::set<std::string>(config.labels.begin(), config.labels.end()).size() == labels,
                   "head: the labels must differ");
  } else {
    LONGSPAN_CHECK(labels == 0, "head: ", kind, " has no use for labels, got ", labels);
  }
}

Json to_json(const HeadConfig& config) {
  Json json = Json::object();
  const FieldValues values = head_fields().values(config);
  for (const auto& info : head_fields().infos()) json[info.name] = longspan::to_json(values.at(info.name));
  json["labels"] = config.labels;
  return json;
}

HeadConfig head_from_json(const Json& json) {
  LONGSPAN_CHECK(json.is_object(), "head: the configuration must be an object, got ", json.type_name());
  HeadConfig config;
  Json plain = json;
  if (const auto labels = json.find("labels"); labels != json.end()) {
    LONGSPAN_CHECK(labels->is_array(), "head: labels must be a list, got ", labels->type_name());
    for (const Json& label : *labels) {
      LONGSPAN_CHECK(label.is_string(), "head: labels must be texts, got ", label.type_name());
      config.labels.push_back(label.get<std::string>());
    }
    plain.erase("labels");
  }
  head_fields().apply(config, to_field_values(plain, "head"));
  return config;
}

}  // namespace longspan::models
