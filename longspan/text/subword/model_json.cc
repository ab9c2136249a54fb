#include <charconv>
#include <cmath>
#include <iterator>

#include "longspan/text/subword/bpe_model.h"
#include "longspan/text/subword/json_object.h"
#include "longspan/text/subword/tokenizer_json.h"
#include "longspan/text/subword/unigram_model.h"
#include "longspan/text/subword/wordlevel_model.h"
#include "longspan/text/subword/wordpiece_model.h"

namespace longspan {

namespace {

Vocabulary read_vocabulary(const Json& json, const std::string& owner) {
  LONGSPAN_CHECK(json.is_object(), owner, ": expected an object, got ", json.type_name());
  Vocabulary out;
  for (const auto& [name, id] : json.items())
    out.add(name, JsonObject::number_of(id, owner + ": " + in_quotes(name)), owner);
  return out;
}

/// Either ["a b", ...] or [["a", "b"], ...].
std::vector<std::pair<std::string, std::string>> read_merges(const Json::array_t& list, const std::string& owner) {
  std::vector<std::pair<std::string, std::string>> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Json& merge = list[i];
    if (merge.is_string()) {
      const auto& text = merge.get_ref<const std::string&>();
      const std::size_t blank = text.find(' ');
      LONGSPAN_CHECK(blank != std::string::npos && text.find(' ', blank + 1) == std::string::npos, owner, "[", i,
                     "]: expected two tokens with a blank between, got ", in_quotes(text));
      out.emplace_back(text.substr(0, blank), text.substr(blank + 1));
    } else {
      LONGSPAN_CHECK(merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string(), owner, "[",
                     i, "]: expected a text or a list of two");
      out.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
    }
  }
  return out;
}

std::unique_ptr<SubwordModel> read_bpe(JsonObject& object, bool bytes) {
  BpeOptions options;
  options.bytes = bytes;
  options.unknown = object.optional_text("unk_token");
  options.fuse_unknown = object.flag("fuse_unk", false);
  options.byte_fallback = object.flag("byte_fallback", false);
  options.ignore_merges = object.flag("ignore_merges", false);
  options.continuing_prefix = object.optional_text("continuing_subword_prefix").value_or("");
  options.end_suffix = object.optional_text("end_of_word_suffix").value_or("");
  if (const Json* dropout = object.find("dropout"))
    LONGSPAN_CHECK(dropout->is_number() && dropout->get<double>() == 0, object.owner(),
                   ": dropout is not supported, set it to null");
  return std::make_unique<BpeModel>(read_vocabulary(object.at("vocab"), object.owner_of("vocab")),
                                    read_merges(object.list("merges"), object.owner_of("merges")), std::move(options),
                                    object.owner());
}

std::unique_ptr<SubwordModel> read_wordpiece(JsonObject& object) {
  WordPieceOptions options;
  options.unknown = object.text("unk_token");
  options.continuing_prefix = object.text("continuing_subword_prefix");
  options.max_characters = object.number("max_input_chars_per_word", 100);
  return std::make_unique<WordPieceModel>(read_vocabulary(object.at("vocab"), object.owner_of("vocab")),
                                          std::move(options), object.owner());
}

std::unique_ptr<SubwordModel> read_wordlevel(JsonObject& object) {
  return std::make_unique<WordLevelModel>(read_vocabulary(object.at("vocab"), object.owner_of("vocab")),
                                          object.text("unk_token"));
}

/// A score as the original reads it: its digits as a whole number, divided by a power of ten, which is up to a unit in
/// the last place from what they say. Where two ways to cut a word are equally probable, such a unit decides.
double score_of(double value) {
  char text[32];  // shortest digits, as such files have them: "-7.49e+00"
  const char* end = std::to_chars(std::begin(text), std::end(text), std::abs(value), std::chars_format::scientific).ptr;
  const std::string_view all(text, static_cast<std::size_t>(end - text));
  const std::size_t mark = all.find('e');
  if (mark == std::string_view::npos) return value;
  uint64_t digits = 0;
  int exponent = 0;
  bool fraction = false;
  const std::string_view power = all.substr(mark + (all[mark + 1] == '+' ? 2 : 1));
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  for (const char c : all.substr(0, mark)) {
    if (c == '.') {
      fraction = true;
      continue;
    }
    digits = 10 * digits + static_cast<uint64_t>(c - '0');
    exponent -= fraction;
  }
  if (exponent >= 0 || exponent < -22) return value;  // whole numbers; what no power of ten divides exactly
  double divisor = 1;
  for (int i = 0; i < -exponent; ++i) divisor *= 10;  // exact up to 10^22
  return std::copysign(static_cast<double>(digits) / divisor, value);
}

std::unique_ptr<SubwordModel> read_unigram(JsonObject& object) {
  UnigramOptions options;
  if (object.find("unk_id")) options.unknown = object.number("unk_id");
  options.byte_fallback = object.flag("byte_fallback", false);
  std::vector<std::pair<std::string, double>> tokens;
  const auto& list = object.list("vocab");
  for (std::size_t i = 0; i < list.size(); ++i) {
    LONGSPAN_CHECK(list[i].is_array() && list[i].size() == 2 && list[i][0].is_string() && list[i][1].is_number(),
                   object.owner_of("vocab"), "[", i, "]: expected a text and a score");
    tokens.emplace_back(list[i][0].get<std::string>(), score_of(list[i][1].get<double>()));
  }
  return std::make_unique<UnigramModel>(tokens, options, object.owner());
}

/// Old files leave the type out: it follows from what is there, as in the original.
std::string type_of(JsonObject& object) {
  if (const auto type = object.optional_text("type")) return *type;
  if (object.find("merges")) return "BPE";
  if (object.find("max_input_chars_per_word") || object.find("continuing_subword_prefix")) return "WordPiece";
  return object.at("vocab").is_object() ? "WordLevel" : "Unigram";
}

}  // namespace

std::unique_ptr<SubwordModel> read_model(const Json& json, const std::string& owner, bool bytes) {
  JsonObject object(json, owner);
  const std::string type = type_of(object);
  std::unique_ptr<SubwordModel> out;
  if (type == "BPE")
    out = read_bpe(object, bytes);
  else if (type == "Unigram")
    out = read_unigram(object);
  else if (type == "WordPiece")
    out = read_wordpiece(object);
  else if (type == "WordLevel")
    out = read_wordlevel(object);
  else
    object.refuse_type(type, "BPE, Unigram, WordLevel, WordPiece");
  LONGSPAN_CHECK(!bytes || type == "BPE", owner, ": the type ", type,
                 " is not supported with the pre-tokenizer ByteLevel");
  object.finish();
  return out;
}

}  // namespace longspan
