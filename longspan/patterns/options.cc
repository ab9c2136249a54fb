#include "longspan/patterns/options.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "longspan/base/pattern_view.h"

namespace longspan::patterns {

namespace {

struct GeneratorInfo {
  const char* name;
  Generator generator;
  std::vector<std::string> fields;
  FieldValues defaults;  ///< where they differ from those of PatternOptions
};

const std::vector<GeneratorInfo>& generators() {
  using enum Generator;
  static const std::vector<GeneratorInfo> table = {
      {"window_overlap", window_overlap, {"w"}, {}},
      {"window_band", window_band, {"k"}, {}},
      {"window_block", window_block, {"b"}, {}},
      {"global", global, {"g", "global_choice", "global_tokens"}, {}},
      {"random", random, {"r", "random_mode"}, {}},
      {"uniform", uniform, {"uniform_r"}, {}},
      {"bigbird", bigbird, {"b", "bigbird_r"}, {}},
      // Longformer's window of 512, and the first token global: the one that stands for the text in classification.
      {"longformer",
       longformer,
       {"w", "longformer_window", "g", "global_choice", "global_tokens"},
       {{"w", int64_t{512}}, {"g", int64_t{1}}, {"global_choice", "first"}}},
      {"strided", strided, {"l"}, {}},
      {"fixed", fixed, {"l", "c"}, {}},
      {"full", full, {}, {}},
      {"edges", edges, {}, {}},
  };
  return table;
}

const std::vector<std::string> kCommonFields = {"self_loops", "causal", "fit", "max_len", "pad_to_window"};

struct Preset {
  const char* name;
  const char* pattern;
  FieldValues values;
};

const std::vector<Preset>& presets() {
  static const std::vector<Preset> table = {
      // The authors' public code: one graph at 4,096 tokens, cut for shorter texts.
      {"reference",
       "window_overlap+global+random",
       {{"w", int64_t{64}},
        {"g", int64_t{64}},
        {"r", int64_t{64}},
        {"random_mode", "total"},
        {"fit", "cut"},
        {"max_len", int64_t{4096}},
        {"pad_to_window", true}}},
      // A budget that gives the paper's Table S.1: 11.2 % of the pairs at 4,096 tokens, 5.7 % at 8,192.
      {"table_s1",
       "window_overlap+global+random",
       {{"w", int64_t{64}}, {"g", int64_t{128}}, {"r", int64_t{128}}, {"random_mode", "total"}}},
  };
  return table;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::vector<const GeneratorInfo*> infos_of(std::string_view pattern) {
  std::vector<const GeneratorInfo*> infos;
  for (const std::string& part : split(pattern, '+')) {
    const auto found =
        std::find_if(generators().begin(), generators().end(), [&](const auto& info) { return info.name == part; });
    if (found == generators().end()) {
      const bool preset =
          std::any_of(presets().begin(), presets().end(), [&](const auto& p) { return p.name == part; });
      LONGSPAN_CHECK(!preset, "pattern: '", part, "' in '", pattern, "' is a preset, which has no union");
      const std::string near = nearest_name(part, pattern_names());
      std::string known;
      for (const std::string& name : pattern_names()) known += " " + name;
      throw InputError(str_cat("pattern: unknown pattern '", part, "'",
                               near.empty() ? "; known:" + known : "; did you mean '" + near + "'?"));
    }
    LONGSPAN_CHECK(std::find(infos.begin(), infos.end(), &*found) == infos.end(), "pattern: '", part,
                   "' stands twice in '", pattern, "'");
    infos.push_back(&*found);
  }
  return infos;
}

std::vector<std::string> usable_fields(std::string_view pattern) {
  std::vector<std::string> fields;
  for (const GeneratorInfo* info : infos_of(pattern))
    for (const std::string& field : info->fields)
      if (std::find(fields.begin(), fields.end(), field) == fields.end()) fields.push_back(field);
  fields.insert(fields.end(), kCommonFields.begin(), kCommonFields.end());
  return fields;
}

/// `values` must name only fields that the table knows.
void refuse_unused(std::string_view pattern, const FieldValues& values) {
  const std::vector<std::string> usable = usable_fields(pattern);
  for (const auto& [name, value] : values) {
    if (std::holds_alternative<std::monostate>(value)) continue;
    if (std::find(usable.begin(), usable.end(), name) != usable.end()) continue;
    std::string known;
    for (const std::string& field : usable) known += (known.empty() ? "" : ", ") + field;
    throw InputError(str_cat("pattern: ", pattern, " does not use ", name, "; its fields: ", known));
  }
}

}  // namespace

const FieldTable<PatternOptions>& pattern_fields() {
  using O = PatternOptions;
  const FieldRange width = {1, kMostTokens}, count = {0, kMostTokens};
  static const auto table =
      FieldTable<O>("pattern")
          .integer("w", &O::w, {2, kMostTokens}, "window_overlap, longformer: width of the window, even")
          .integer("k", &O::k, count, "window_band: keys on either side")
          .integer("b", &O::b, width, "window_block, bigbird: width of a block")
          .integer("bigbird_r", &O::bigbird_r, count, "bigbird: random blocks in each row of blocks")
          .choice("longformer_window", &O::longformer_window,
                  {{"band", LongformerWindow::band}, {"chunks", LongformerWindow::chunks}},
                  "longformer: |i - j| <= w/2, or the overlapping chunks that hold it")
          .integer("g", &O::g, count, "global, longformer: tokens that see all and are seen by all")
          .choice("global_choice", &O::global_choice,
                  {{"random", GlobalChoice::random}, {"first", GlobalChoice::first}, {"list", GlobalChoice::list}},
                  "which tokens are global: drawn from those behind the first window, the first g, or global_tokens")
          .text("global_tokens", &O::global_tokens, "positions with commas between, for global_choice=list")
          .integer("r", &O::r, count, "random: keys for each query")
          .choice("random_mode", &O::random_mode, {{"per_row", RandomMode::per_row}, {"total", RandomMode::total}},
                  "random: r new keys for each query, or r N pairs drawn from all without looking at the rest")
          .integer("uniform_r", &O::uniform_r, count, "uniform: evenly spaced keys for each query")
          .integer("l", &O::l, width, "strided, fixed: the stride")
          .integer("c", &O::c, width, "fixed: columns at the end of each block that all queries see")
          .boolean("self_loops", &O::self_loops, "every token sees itself")
          .boolean("causal", &O::causal, "no key after its query; random keys are drawn from the past")
          .choice("fit", &O::fit, {{"exact", Fit::exact}, {"cut", Fit::cut}},
                  "made for the length at hand, or for max_len and cut")
          .integer("max_len", &O::max_len, width,
                   "the length that fit=cut makes a pattern for, and below which causal global tokens are drawn")
          .boolean("pad_to_window", &O::pad_to_window, "round the length up to a multiple of w");
  return table;
}

std::vector<std::string> pattern_names() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  for (const GeneratorInfo& info : generators()) names.push_back(info.name);
  return names;
}

PatternOptions pattern_options(std::string_view name, const FieldValues& values) {
  PatternOptions options;
  const FieldTable<PatternOptions>& table = pattern_fields();
  const auto preset =
      std::find_if(presets().begin(), presets().end(), [&](const auto& candidate) { return candidate.name == name; });
  if (preset != presets().end()) {
    options.pattern = preset->pattern;
    table.apply(options, preset->values);
  } else {
    options.pattern = name;
    for (const GeneratorInfo* info : infos_of(name)) table.apply(options, info->defaults);
  }
  table.apply(options, values);
  refuse_unused(options.pattern, values);
  check(options);
  return options;
}

FieldValues pattern_values(const PatternOptions& options) {
  FieldValues values = pattern_fields().values(options);
  const std::vector<std::string> usable = usable_fields(options.pattern);
  for (auto& [name, value] : values)
    if (std::find(usable.begin(), usable.end(), name) == usable.end()) value = FieldValue();
  return values;
}

std::vector<Generator> generators_of(const PatternOptions& options) {
  std::vector<Generator> out;
  for (const GeneratorInfo* info : infos_of(options.pattern)) out.push_back(info->generator);
  return out;
}

bool uses(const PatternOptions& options, Generator generator) {
  const std::vector<Generator> all = generators_of(options);
  return std::find(all.begin(), all.end(), generator) != all.end();
}

PatternOptions without_generators(const PatternOptions& options, const std::vector<Generator>& dropped) {
  PatternOptions out = options;
  out.pattern.clear();
  std::size_t found = 0;
  for (const GeneratorInfo* info : infos_of(options.pattern)) {
    const bool leaves = std::find(dropped.begin(), dropped.end(), info->generator) != dropped.end();
    found += leaves;
    if (!leaves) out.pattern += str_cat(out.pattern.empty() ? "" : "+", info->name);
  }
  LONGSPAN_CHECK(found == dropped.size(), "pattern: generators can leave only a pattern that has them, got ",
                 options.pattern, " without ", dropped.size(), " of which it has ", found);
  LONGSPAN_CHECK(!out.pattern.empty(), "pattern: ", options.pattern, " must keep a generator");
  return out;
}

void check(const PatternOptions& options) {
  pattern_fields().validate(options);
  const bool windowed = uses(options, Generator::window_overlap) || uses(options, Generator::longformer);
  LONGSPAN_CHECK(!windowed || options.w % 2 == 0, "pattern: w must be even, got ", options.w);
  LONGSPAN_CHECK(!options.pad_to_window || windowed, "pattern: pad_to_window needs a window of width w, which ",
                 options.pattern, " has not");
  LONGSPAN_CHECK(!uses(options, Generator::fixed) || options.c <= options.l,
                 "pattern: c must be at most l = ", options.l, ", got ", options.c);
  const bool list = options.global_choice == GlobalChoice::list;
  LONGSPAN_CHECK(list || options.global_tokens.empty(), "pattern: global_tokens needs global_choice=list");
  listed_global_tokens(options);
}

std::vector<int64_t> listed_global_tokens(const PatternOptions& options) {
  std::set<int64_t> tokens;
  if (!options.global_tokens.empty())
    for (const std::string& part : split(options.global_tokens, ',')) {
      int64_t token = 0;
      const auto result = std::from_chars(part.data(), part.data() + part.size(), token);
      LONGSPAN_CHECK(result.ec == std::errc() && result.ptr == part.data() + part.size() && token >= 0,
                     "pattern: global_tokens must be positions with commas between, got '", options.global_tokens, "'");
      tokens.insert(token);
    }
  return {tokens.begin(), tokens.end()};
}

int64_t padded_length(const PatternOptions& options, int64_t n) {
  return options.pad_to_window ? (n + options.w - 1) / options.w * options.w : n;
}

std::string length_dependence(const PatternOptions& options) {
  if (!options.causal) return "the pattern is not causal: tokens see those that follow";
  if (options.fit == Fit::cut) return "fit=cut makes the pattern for max_len tokens";
  if (uses(options, Generator::uniform)) return "uniform spaces its keys over all tokens";
  if (uses(options, Generator::bigbird)) return "bigbird's last block sees and is seen by all";
  if (uses(options, Generator::random) && options.random_mode == RandomMode::total)
    return "random with random_mode=total draws its pairs from all of them";
  if (uses(options, Generator::edges)) return "edges of one's own are given for one length";
  return "";
}

}  // namespace longspan::patterns
