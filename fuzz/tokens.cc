// A dataset: its description, the tokenizer and the tokens of `train`, with a line "=" between.
#include "fuzz/fuzz.h"
#include "longspan/base/check.h"
#include "longspan/data/dataset.h"

namespace longspan::fuzz {
namespace {

/// Every split holds what its description says, tokens within the vocabulary, and the tokenizer gives bytes for them.
void check_accepted(const Dataset& dataset) {
  for (const std::string& name : dataset.split_names()) {
    const TokenFile& tokens = dataset.split(name);
    const SplitInfo& info = dataset.info(name);
    FUZZ_CHECK(tokens.size() == info.tokens && info.tokens >= 1);
    FUZZ_CHECK(info.documents >= 1 && info.documents <= info.source_bytes);
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
  const auto parts = fuzz::pieces(fuzz::text_of(data, size), 3);
  folder.put("dataset.json", parts[0]);
  folder.put("tokenizer.json", parts[1]);
  folder.put("train.bin", parts[2]);
  try {
    fuzz::check_accepted(Dataset(folder.path()));
  } catch (const InputError&) {
  }
  return 0;
}
