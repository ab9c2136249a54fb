#include "longspan/data/dataset.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>

#include "longspan/base/check.h"
#include "longspan/data/dataset_format.h"
#include "longspan/data/tokenizer_file.h"
#include "longspan/io/json.h"

namespace longspan {

namespace {

int64_t integer(const Json& object, const char* key, const std::string& owner) {
  constexpr auto kLargest = std::numeric_limits<int64_t>::max();
  const auto found = object.find(key);
  LONGSPAN_CHECK(found != object.end() && found->is_number_unsigned() && found->get<uint64_t>() >= 1 &&
                     found->get<uint64_t>() <= static_cast<uint64_t>(kLargest),
                 owner, ": ", key, " must be an integer from 1 to ", kLargest);
  return found->get<int64_t>();
}

/// Bits per byte divide by these numbers, so they must be possible.
void check_consistent(const SplitInfo& info, const Tokenizer& tokenizer, const std::string& owner) {
  LONGSPAN_CHECK(info.documents <= info.source_bytes, owner, ": ", info.documents, " documents in ", info.source_bytes,
                 " source_bytes");
  LONGSPAN_CHECK(!tokenizer.is_bytewise() || info.tokens == info.source_bytes, owner, ": ", info.tokens,
                 " tokens of one byte each, but source_bytes says ", info.source_bytes);
}

}  // namespace

bool Dataset::is_dataset(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder + "/" + kDatasetFile, ignored);
}

bool Dataset::is_dataset_with_tokens(const std::string& folder) {
  std::error_code ignored;
  return is_dataset(folder) && std::filesystem::is_regular_file(folder + "/" + tokens_file("train"), ignored);
}

Dataset::Dataset(std::string folder) : folder_(std::move(folder)) {
  const std::string path = folder_ + "/" + kDatasetFile;
  LONGSPAN_CHECK(is_dataset(folder_), folder_, ": is not a dataset: there is no ", kDatasetFile,
                 " in it; longspan prepare makes one of text");
  const Json json = load_json(path);
  LONGSPAN_CHECK(json.is_object(), path, ": expected an object, got ", json.type_name());
  const int64_t version = integer(json, "format_version", path);
  LONGSPAN_CHECK(version >= kDatasetVersion, path, ": format_version ", version, " is that of an older longspan; ",
                 "make the dataset again with longspan prepare");
  LONGSPAN_CHECK(version == kDatasetVersion, path, ": format_version must be ", kDatasetVersion, ", got ", version);

  tokenizer_ = load_tokenizer(folder_);
  const auto name = json.find("tokenizer");
  LONGSPAN_CHECK(name != json.end() && name->is_string() && name->get_ref<const std::string&>() == tokenizer_->name(),
                 path, ": tokenizer must be ", tokenizer_->name(), ", as the tokenizer in the folder");
  const int64_t stored = integer(json, "vocabulary", path);
  LONGSPAN_CHECK(stored == vocabulary(), path, ": vocabulary is ", stored, ", but the tokenizer has ", vocabulary());
  if (const auto own = tokenizer_->description(); own.contains(kFingerprint)) {
    const auto found = json.find(kFingerprint);
    LONGSPAN_CHECK(found != json.end() && *found == to_json(own.at(kFingerprint)), path, ": ", kFingerprint,
                   " is that of another tokenizer than ", kModelFile);
  }
  const TokenType type = token_type_for(vocabulary());
  const auto dtype = json.find("dtype");
  LONGSPAN_CHECK(dtype != json.end() && dtype->is_string() && dtype->get_ref<const std::string&>() == name_of(type),
                 path, ": dtype must be ", name_of(type), " for a vocabulary of ", vocabulary());

  const auto splits = json.find("splits");
  LONGSPAN_CHECK(splits != json.end() && splits->is_object(), path, ": splits must be an object");
  for (const auto& [name, entry] : splits->items()) {
    const std::string owner = path + ": split " + name;
    LONGSPAN_CHECK(std::find(std::begin(kSplits), std::end(kSplits), name) != std::end(kSplits), owner,
                   ": expected one of train, valid, test");
    LONGSPAN_CHECK(entry.is_object(), owner, ": expected an object, got ", entry.type_name());
    const SplitInfo info{integer(entry, "tokens", owner), integer(entry, "source_bytes", owner),
                         integer(entry, "documents", owner)};
    TokenFile tokens(folder_ + "/" + tokens_file(name), type, vocabulary());
    LONGSPAN_CHECK(tokens.size() == info.tokens, tokens.path(), ": holds ", tokens.size(), " tokens, but ",
                   kDatasetFile, " says ", info.tokens);
    check_consistent(info, *tokenizer_, owner);
    DocumentIndex documents(folder_ + "/" + documents_file(name), info.tokens);
    LONGSPAN_CHECK(documents.size() == info.documents, documents.path(), ": holds ", documents.size(),
                   " documents, but ", kDatasetFile, " says ", info.documents);
    std::optional<SourceMap> source;
    if (!tokenizer_->is_bytewise())
      source.emplace(folder_ + "/" + source_file(name), folder_ + "/" + long_file(name), info.tokens,
                     info.source_bytes);
    splits_.emplace(name, Split{info, std::move(tokens), std::move(documents), std::move(source)});
  }
}

int64_t Dataset::source_bytes(const std::string& name, int64_t first, int64_t count) const {
  const Split& split = find(name);
  LONGSPAN_CHECK(first >= 0 && count >= 0 && first <= split.info.tokens && count <= split.info.tokens - first,
                 split.tokens.path(), ": ", count, " tokens from ", first, " on are asked for, it holds ",
                 split.info.tokens);
  return split.source ? split.source->bytes(first, count) : count;
}

std::vector<std::string> Dataset::split_names() const {
  std::vector<std::string> names;
  for (const auto& [name, split] : splits_) names.push_back(name);
  return names;
}

const Dataset::Split& Dataset::find(const std::string& name) const {
  const auto found = splits_.find(name);
  if (found != splits_.end()) return found->second;
  std::string known;
  for (const auto& split : split_names()) known += (known.empty() ? "" : ", ") + split;
  throw InputError(str_cat(folder_, ": has no split '", name, "', only: ", known));
}

}  // namespace longspan
