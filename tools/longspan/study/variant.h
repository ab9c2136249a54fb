// What a study compares: an attention with options.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace longspan::tool {

struct StudyVariant {
  std::string name;  ///< of rows and files: letters, digits and . _ + -
  /// Variants of one group, which differ in their state, are one line where they are drawn by it; "": not drawn there.
  std::string group;
  std::string attention;
  std::vector<std::string> settings = {};  ///< as --set has them: "model.attention_options.r=32"

  bool operator==(const StudyVariant&) const = default;
};

/// --variant NAME=attention,option=value,...: an option of the attention, or model.FIELD or train.FIELD. The group is
/// the attention's name. InputError for what is malformed; whether options exist is for their table to say.
StudyVariant parse_variant(const std::string& text);

/// InputError when two have one name.
void check_names(const std::vector<StudyVariant>& variants);

/// --search FIELD=VALUE,VALUE,...: a field of training, model.FIELD or option.FIELD.
struct StudySearch {
  std::string field;    ///< as it was given
  std::string setting;  ///< path of --set
  std::vector<std::string> values;
};
StudySearch parse_search(const std::string& text);

/// One way to choose a value for each of the searched fields.
struct SearchPoint {
  std::string label;  ///< "learning_rate=0.004"; "" where nothing is searched
  std::vector<std::string> settings;
};
/// All of them, the first field changing slowest.
std::vector<SearchPoint> search_points(const std::vector<StudySearch>& searches);

}  // namespace longspan::tool
