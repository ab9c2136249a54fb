#include "pattern_view.h"

#include <array>
#include <cstdio>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "longspan/report/table.h"

namespace longspan::tool {

namespace {

/// Cells along a side of a picture: more make a larger file and show nothing more on a screen.
constexpr int64_t kMostCells = 128;

struct Piece {
  const char* key;
  const char* meaning;
  int64_t pairs;
};

/// In the order of patterns' own list.
std::array<Piece, patterns::kPatternPieces> pieces_of(const patterns::PieceCounts& counts) {
  return {{{"dense_rows", "tokens that see all", counts.dense_rows},
           {"band", "keys around each token", counts.band},
           {"dense_columns", "tokens that all see", counts.dense_columns},
           {"blocks", "random blocks", counts.blocks},
           {"rest", "single pairs", counts.rest}}};
}

std::string hexadecimal(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::string heading(const PatternLook& look) {
  const bool preset = look.name != look.options.pattern;
  return str_cat(look.name, preset ? " (" + look.options.pattern + ")" : "", ", ", report::grouped(look.pattern.size()),
                 " tokens", look.options.causal ? ", causal" : "");
}

std::string share_text(double share) { return report::significant(100 * share, 4) + " %"; }

std::string share_line(const PatternLook& look) {
  const int64_t n = look.pattern.size();
  return str_cat(report::grouped(look.pattern.pairs()), " pairs, ", share_text(look.pattern.density()), " of ",
                 report::grouped(n), " x ", report::grouped(n));
}

/// The fields that the pattern depends on; null for the others.
FieldValues values_in_use(const patterns::PatternOptions& options) {
  FieldValues values = patterns::pattern_values(options);
  using patterns::GlobalChoice;
  const bool drawn = options.causal && patterns::uses(options, patterns::Generator::global) &&
                     options.global_choice != GlobalChoice::list && options.global_choice != GlobalChoice::first;
  if (options.fit == patterns::Fit::exact && !drawn) values["max_len"] = FieldValue();
  return values;
}

}  // namespace

Json to_json(const PatternLook& look) {
  const patterns::PatternStatistics& s = look.statistics;
  Json json;
  json["pattern"] = look.name;
  json["generators"] = look.options.pattern;
  json["n"] = look.pattern.size();
  json["tokens"] = look.tokens;
  json["seed"] = look.seed;
  json["layer"] = look.layer;
  json["nnz"] = look.pattern.pairs();
  json["density"] = look.pattern.density();
  json["degree_min"] = s.degree_min;
  json["degree_mean"] = s.degree_mean;
  json["degree_max"] = s.degree_max;
  json["in_degree_min"] = s.in_degree_min;
  json["in_degree_max"] = s.in_degree_max;
  json["empty_rows"] = s.empty_rows;
  json["components"] = s.components;
  for (const Piece& piece : pieces_of(look.pattern.counts())) json["pieces"][piece.key] = piece.pairs;
  json["global_tokens"] = look.pattern.view().dense_row_count;
  json["duplicates"] = look.duplicates;
  json["bytes"] = look.pattern.bytes();
  json["identity"] = hexadecimal(look.pattern.identity());
  json["options"] = longspan::to_json(values_in_use(look.options));
  return json;
}

std::string to_text(const PatternLook& look) {
  const patterns::PatternStatistics& s = look.statistics;
  std::string text = str_cat(heading(look), ", seed ", look.seed, look.layer ? str_cat(", layer ", look.layer) : "",
                             "\n  ", share_line(look), "\n  keys of a query: ", report::grouped(s.degree_min), " to ",
                             report::grouped(s.degree_max), ", mean ", report::significant(s.degree_mean, 4),
                             "; queries of a key: ", report::grouped(s.in_degree_min), " to ",
                             report::grouped(s.in_degree_max), "\n  components: ", report::grouped(s.components),
                             s.empty_rows ? str_cat("; queries without a key: ", report::grouped(s.empty_rows)) : "",
                             look.duplicates ? str_cat("; pairs given twice: ", report::grouped(look.duplicates)) : "",
                             "\n  ", report::bytes(static_cast<double>(look.pattern.bytes())), ", identity ",
                             hexadecimal(look.pattern.identity()), "\n\n");
  report::Table table;
  table.columns = {{"piece"}, {"pairs", true}, {"of all", true}, {"what it is"}};
  const auto n = static_cast<double>(look.pattern.size());
  for (const Piece& piece : pieces_of(look.pattern.counts()))
    if (piece.pairs > 0)
      table.rows.push_back({piece.key, report::grouped(piece.pairs),
                            share_text(static_cast<double>(piece.pairs) / (n * n)), piece.meaning});
  if (!table.rows.empty()) text += report::indent(report::to_text(table), 2) + "\n";

  report::Table fields;
  fields.columns = {{"field"}, {"value"}, {"meaning"}};
  const FieldValues values = values_in_use(look.options);
  for (const FieldInfo& field : patterns::pattern_fields().infos())
    if (const FieldValue& value = values.at(field.name); !std::holds_alternative<std::monostate>(value))
      fields.rows.push_back({field.name, longspan::to_string(value), field.help});
  return text + report::indent(report::to_text(fields), 2);
}

report::PairMap pattern_picture(const PatternLook& look) {
  report::PairMap out;
  out.title = heading(look);
  out.lines = {share_line(look)};
  out.tokens = look.pattern.size();
  patterns::PatternMap map = patterns::map_of(look.pattern.view(), kMostCells);
  out.cells = map.cells;
  const auto pieces = pieces_of(look.pattern.counts());
  for (std::size_t i = 0; i < pieces.size(); ++i)
    out.kinds.push_back(
        {str_cat(pieces[i].meaning, ": ", report::grouped(pieces[i].pairs), " pairs"), std::move(map.share[i])});
  return out;
}

}  // namespace longspan::tool
