#include "longspan/text/subword/vocabulary_files.h"

#include <algorithm>
#include <charconv>

#include "longspan/text/subword/base64.h"
#include "longspan/text/subword/bpe_model.h"
#include "longspan/text/subword/byte_alphabet.h"
#include "longspan/text/subword/json_object.h"
#include "longspan/text/subword/tokenizer_json.h"
#include "longspan/text/utf8.h"

namespace longspan {

namespace {

/// Every place within a token is looked at for two that make it: published files have up to 128 bytes.
constexpr std::size_t kLongestRankedToken = 1024;

/// Calls use(line, number) for each line of `text` that is not empty.
template <class Use>
void for_each_line(std::string_view text, Use&& use) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";  // of the order of bytes, as some editors write it
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  for (int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) use(line, number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

Json added_token(uint32_t id, std::string_view content, bool lstrip) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", lstrip},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

const KnownRanks* find_known(std::string_view name) {
  for (const KnownRanks& known : known_ranks())
    if (known.name == name) return &known;
  return nullptr;
}

}  // namespace

std::unique_ptr<SubwordTokenizer> read_merges(std::string_view vocabulary, std::string_view merges,
                                              std::string_view origin) {
  Json vocab = parse_json(vocabulary, str_cat(origin, ": vocab.json"));
  LONGSPAN_CHECK(vocab.is_object(), origin, ": vocab.json: expected an object, got ", vocab.type_name());
  Json list = Json::array();
  for_each_line(merges, [&](std::string_view line, int64_t number) {
    if (number == 1 && line.starts_with("#version")) return;
    const std::string fault = utf8_fault(line, 0);
    LONGSPAN_CHECK(fault.empty(), origin, ": merges.txt:", number, ": the line ", fault);
    list.push_back(std::string(line));
  });
  Json added = Json::array();
  const auto id_of = [&](const char* name) -> std::optional<uint32_t> {
    const auto found = vocab.find(name);
    if (found == vocab.end()) return std::nullopt;
    return JsonObject::number_of(*found, str_cat(origin, ": vocab.json: ", name));
  };
  for (const char* name : {"<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"})
    if (const auto id = id_of(name)) added.push_back(added_token(*id, name, std::string_view(name) == "<mask>"));
  Json post = nullptr;
  if (const auto begin = id_of("<s>"), end = id_of("</s>"); begin && end)
    post = {{"type", "RobertaProcessing"},
            {"sep", Json::array({"</s>", *end})},
            {"cls", Json::array({"<s>", *begin})},
            {"trim_offsets", true},
            {"add_prefix_space", false}};
  const Json level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  Json model = {{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", nullptr},
                {"continuing_subword_prefix", nullptr},
                {"end_of_word_suffix", nullptr},
                {"fuse_unk", false},
                {"byte_fallback", false},
                {"ignore_merges", false}};
  model["vocab"] = std::move(vocab);
  model["merges"] = std::move(list);
  Json file = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  file["added_tokens"] = std::move(added);
  file["normalizer"] = nullptr;
  file["pre_tokenizer"] = level;
  file["post_processor"] = std::move(post);
  file["decoder"] = level;
  file["model"] = std::move(model);
  return read_tokenizer_json(file.dump(2) + "\n", origin);
}

std::unique_ptr<SubwordTokenizer> read_ranks(std::string_view content, const KnownRanks& known,
                                             std::string_view origin) {
  Vocabulary vocabulary;
  for_each_line(content, [&](std::string_view line, int64_t number) {
    const std::size_t blank = line.find(' ');
    const auto bytes = from_base64(line.substr(0, blank));
    uint32_t rank = 0;
    const char* end = line.data() + line.size();
    const bool good = blank != std::string_view::npos && bytes && !bytes->empty() && blank + 1 < line.size();
    const auto parsed = good ? std::from_chars(line.data() + blank + 1, end, rank) : std::from_chars_result{};
    LONGSPAN_CHECK(good && parsed.ec == std::errc() && parsed.ptr == end, origin, ":", number,
                   ": expected a token in base64, a blank and its rank, got ", in_quotes(line));
    LONGSPAN_CHECK(bytes->size() <= kLongestRankedToken, origin, ":", number, ": a token may have at most ",
                   kLongestRankedToken, " bytes, got ", bytes->size());
    std::string name = to_byte_alphabet(*bytes);
    LONGSPAN_CHECK(!vocabulary.find(name) && !vocabulary.name(rank), origin, ":", number, ": ",
                   vocabulary.name(rank) ? "this rank stands twice" : "this token stands twice");
    vocabulary.add(std::move(name), rank, origin);
  });
  SubwordParts parts;
  parts.model = std::make_unique<BpeModel>(BpeModel::of_ranks(std::move(vocabulary), origin));
  for (const auto& [name, id] : known.special) {
    // A smaller vocabulary with the same pattern, as tests have it, has its special tokens behind its ranks.
    const uint32_t size = parts.model->vocabulary().size();
    const uint32_t first = known.special.front().second;
    AddedToken token;
    token.id = size == known.ranks ? id : size + (id - first);
    token.content = name;
    token.special = true;
    parts.added.push_back(std::move(token));
  }
  parts.pre_tokenizers.push_back(std::make_unique<WordPreTokenizer>(Regex(known.pattern, RegexFlavour::rust, origin)));
  parts.file = Json{{"format", "ranks"}, {"pattern", known.name}, {"ranks", content}}.dump(2) + "\n";
  return std::make_unique<SubwordTokenizer>(std::move(parts), origin);
}

const KnownRanks& known_ranks_of(std::string_view path, std::string_view content) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  for (const KnownRanks& known : known_ranks())
    if (name.find(known.name) != std::string_view::npos) return known;
  uint32_t count = 0;
  for_each_line(content, [&](std::string_view, int64_t) { ++count; });
  for (const KnownRanks& known : known_ranks())
    if (count == known.ranks) return known;
  throw InputError(str_cat(path, ": holds ", count,
                           " ranks, which tells no pattern: give the file a name with gpt2, "
                           "cl100k or o200k in it"));
}

bool is_ranks_file(std::string_view json) {
  return json.substr(0, 64).find("\"format\": \"ranks\"") != std::string_view::npos;
}

std::unique_ptr<SubwordTokenizer> read_ranks_file(std::string_view json, std::string_view origin) {
  const Json parsed = parse_json(json, origin);
  JsonObject object(parsed, std::string(origin));
  const std::string format = object.text("format"), name = object.text("pattern"), ranks = object.text("ranks");
  object.finish();
  LONGSPAN_CHECK(format == "ranks", origin, ": format must be ranks, got ", in_quotes(format));
  const KnownRanks* known = find_known(name);
  LONGSPAN_CHECK(known, origin, ": pattern must be one of gpt2, cl100k, o200k, got ", in_quotes(name));
  return read_ranks(ranks, *known, origin);
}

}  // namespace longspan
