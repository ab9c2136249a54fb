#include "longspan/text/subword/json_object.h"
#include "longspan/text/subword/split_patterns.h"
#include "longspan/text/subword/tokenizer_json.h"
#include "longspan/text/utf8.h"

namespace longspan {

namespace {

SplitBehavior read_behavior(const std::string& name, const std::string& owner) {
  constexpr std::pair<std::string_view, SplitBehavior> kKnown[] = {
      {"Removed", SplitBehavior::removed},
      {"Isolated", SplitBehavior::isolated},
      {"MergedWithPrevious", SplitBehavior::merged_with_previous},
      {"MergedWithNext", SplitBehavior::merged_with_next},
      {"Contiguous", SplitBehavior::contiguous}};
  for (const auto& [known, behavior] : kKnown)
    if (name == known) return behavior;
  throw InputError(str_cat(owner,
                           ": behavior must be one of Removed, Isolated, MergedWithPrevious, MergedWithNext, "
                           "Contiguous, got ",
                           in_quotes(name)));
}

std::unique_ptr<PreTokenizer> fixed(std::string_view pattern, SplitBehavior behavior, CutPlaces breaks) {
  return std::make_unique<SplitPreTokenizer>(Regex(pattern, RegexFlavour::rust, "pre_tokenizer"), behavior, false,
                                             breaks, kCutAnywhere);
}

std::unique_ptr<PreTokenizer> read_split(JsonObject& object) {
  bool plain = false;
  const std::string pattern = read_pattern(object.at("pattern"), object.owner_of("pattern"), plain);
  const SplitBehavior behavior = read_behavior(object.text("behavior"), object.owner());
  const bool invert = object.flag("invert", false);
  const bool words = !plain && !invert && cuts_at_blanks(pattern) && behavior == SplitBehavior::isolated;
  // "Removed" of what is not matched is a common way to write "Isolated": these patterns match everything.
  const bool inverted = !plain && invert && cuts_at_blanks(pattern) && behavior == SplitBehavior::removed;
  const bool no_blank = plain && pattern.find_first_of(" \t\n\v\f\r") == std::string::npos;
  Regex regex(plain ? quoted_pattern(pattern) : pattern, RegexFlavour::oniguruma, object.owner());
  if (words || inverted) return std::make_unique<WordPreTokenizer>(std::move(regex));
  return std::make_unique<SplitPreTokenizer>(std::move(regex), behavior, invert, kCutNowhere,
                                             no_blank ? kCutAtBlanks : kCutNowhere);
}

std::unique_ptr<PreTokenizer> read_metaspace(JsonObject& object) {
  const std::string sign = object.text("replacement");
  LONGSPAN_CHECK(!sign.empty(), object.owner(), ": replacement is empty");
  using Prepend = MetaspacePreTokenizer::Prepend;
  const std::string scheme =
      object.optional_text("prepend_scheme").value_or(object.flag("add_prefix_space", true) ? "always" : "never");
  object.ignore("add_prefix_space");
  object.ignore("str_rep");
  LONGSPAN_CHECK(scheme == "always" || scheme == "first" || scheme == "never", object.owner(),
                 ": prepend_scheme must be one of always, first, never, got ", in_quotes(scheme));
  const Prepend prepend = scheme == "always" ? Prepend::always : scheme == "first" ? Prepend::first : Prepend::never;
  return std::make_unique<MetaspacePreTokenizer>(sign, prepend, object.flag("split", true));
}

std::unique_ptr<PreTokenizer> punctuation(SplitBehavior behavior) {
  // A character that is punctuation to Unicode, or to ASCII.
  constexpr std::string_view kPattern = R"([\p{P}$+<=>^`|~])";
  const bool ends_words = behavior != SplitBehavior::merged_with_previous;
  return std::make_unique<SplitPreTokenizer>(Regex(kPattern, RegexFlavour::rust, "pre_tokenizer"), behavior, false,
                                             CutPlaces{false, false, ends_words},
                                             ends_words ? kCutAnywhere : kCutAtBlanks);
}

}  // namespace

void read_pre_tokenizer(const Json& json, const std::string& owner, PreTokenizerList& out, bool& bytes) {
  JsonObject object(json, owner);
  LONGSPAN_CHECK(!bytes, owner, ": ByteLevel must be the last pre-tokenizer");
  const std::string type = object.text("type");
  if (type == "Sequence") {
    const auto& steps = object.list("pretokenizers");
    for (std::size_t i = 0; i < steps.size(); ++i)
      read_pre_tokenizer(steps[i], str_cat(owner, "[", i, "]"), out, bytes);
  } else if (type == "ByteLevel") {
    object.ignore("trim_offsets");  // of offsets alone
    const bool prefix = object.flag("add_prefix_space", true);
    out.push_back(std::make_unique<ByteLevelPreTokenizer>(prefix, object.flag("use_regex", true)));
    bytes = true;
  } else if (type == "Split") {
    out.push_back(read_split(object));
  } else if (type == "Digits") {
    const bool each = object.flag("individual_digits", false);
    out.push_back(fixed(R"(\p{N})", each ? SplitBehavior::isolated : SplitBehavior::contiguous, kCutNowhere));
  } else if (type == "Punctuation") {
    const auto behavior = read_behavior(object.optional_text("behavior").value_or("Isolated"), owner);
    out.push_back(punctuation(behavior));
  } else if (type == "Whitespace") {
    out.push_back(std::make_unique<SplitPreTokenizer>(Regex(R"(\w+|[^\w\s]+)", RegexFlavour::rust, owner),
                                                      SplitBehavior::removed, true, kCutAnywhere, kCutAnywhere));
  } else if (type == "WhitespaceSplit") {
    out.push_back(fixed(R"(\s)", SplitBehavior::removed, kCutAtBlanks));
  } else if (type == "CharDelimiterSplit") {
    const std::string delimiter = object.text("delimiter");
    LONGSPAN_CHECK(count_characters(delimiter) == 1, owner, ": delimiter must be one character, got ",
                   in_quotes(delimiter));
    out.push_back(fixed(quoted_pattern(delimiter), SplitBehavior::removed, {delimiter == " ", false, false}));
  } else if (type == "FixedLength") {
    const uint32_t length = object.number("length", 5);
    LONGSPAN_CHECK(length > 0, owner, ": length must be at least 1, got 0");
    out.push_back(std::make_unique<FixedLengthPreTokenizer>(length));
  } else if (type == "UnicodeScripts") {
    out.push_back(std::make_unique<ScriptsPreTokenizer>());
  } else if (type == "BertPreTokenizer") {
    out.push_back(fixed(R"(\s)", SplitBehavior::removed, kCutAtBlanks));
    out.push_back(punctuation(SplitBehavior::isolated));
  } else if (type == "Metaspace") {
    out.push_back(read_metaspace(object));
  } else {
    object.refuse_type(type,
                       "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, FixedLength, Metaspace, Punctuation, "
                       "Sequence, Split, UnicodeScripts, Whitespace, WhitespaceSplit");
  }
  object.finish();
}

}  // namespace longspan
