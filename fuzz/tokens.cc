// A dataset: its description, the tokenizer, borders of the documents and tokens of `train`, with a line "=" between.
#include "fuzz/fuzz.h"
#include "longspan/base/check.h"
#include "longspan/data/dataset.h"

namespace longspan::fuzz {
namespace {

/// Borders are checked where they are read; those that are right follow on one another.
void check_documents(const DocumentIndex& documents, int64_t tokens) {
  for (int64_t i = 0; i < documents.size(); ++i) {
    try {
      const int64_t begin = documents.begin(i), end = documents.end(i);
      FUZZ_CHECK(0 <= begin && begin < end && end <= tokens);
      const int64_t found = documents.find(begin);
      FUZZ_CHECK(documents.begin(found) <= begin && begin < documents.end(found));
    } catch (const InputError&) {
    }
  }
}

/// Every split holds what its description says, tokens within the vocabulary, and the tokenizer gives bytes for them.
void check_accepted(const Dataset& dataset) {
  for (const std::string& name : dataset.split_names()) {
    const TokenFile& tokens = dataset.split(name);
    const SplitInfo& info = dataset.info(name);
    FUZZ_CHECK(tokens.size() == info.tokens && info.tokens >= 1);
    FUZZ_CHECK(info.documents >= 1 && info.documents <= info.source_bytes);
    FUZZ_CHECK(dataset.source_bytes(name, 0, tokens.size()) == info.source_bytes);
    check_documents(dataset.documents(name), tokens.size());
    std::vector<int64_t> read(static_cast<std::size_t>(tokens.size()));
    tokens.copy_to(read.data(), 0, tokens.size());
    for (const int64_t token : read) {
      FUZZ_CHECK(token >= 0 && token < dataset.vocabulary());
      const uint32_t one[] = {static_cast<uint32_t>(token)};
      dataset.tokenizer().decode(one);
    }
  }
}

}  // namespace
}  // namespace longspan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace longspan;
  static const fuzz::Folder folder;
  const auto parts = fuzz::pieces(fuzz::text_of(data, size), 4);
  folder.put("dataset.json", parts[0]);
  folder.put("tokenizer.json", parts[1]);
  folder.put("train.documents.bin", parts[2]);
  folder.put("train.bin", parts[3]);
  try {
    fuzz::check_accepted(Dataset(folder.path()));
  } catch (const InputError&) {
  }
  return 0;
}
