// Files of a stream's state, for a model of two layers: one keeps a window and running sums, one a growing cache; a
// tensor of tokens stands beside it, as in the file of a session.
#include "fuzz/fuzz.h"
#include "longspan/base/check.h"
#include "longspan/io/state_file.h"

namespace longspan::fuzz {
namespace {

/// As make_corpus.py writes it.
const ExpectedState& expected() {
  static const ExpectedState state = {
      .format = "longspan.state.2",
      .configuration = {{"layers", 2}, {"attention_options", {{"r", 4}}}},
      .dtype = "F32",
      .weights = "00112233445566778899aabbccddeeff",
      .first = {{kStatePositions, {DType::i64, {1}}},
                {"layers.0.count", {DType::i64, {1}}},
                {"layers.0.keys", {DType::f32, {1, 2, 3, 4}}},
                {"layers.0.open", {DType::f64, {1, 2, 4}}},
                {"layers.1.count", {DType::i64, {1}}},
                {"layers.1.keys", {DType::f32, {1, 2, 0, 4}}}},
      .extra = {{"session.pending", {{DType::i64}, 1, 8}}},
  };
  return state;
}

void check_accepted(const SafetensorsFile& file) {
  FUZZ_CHECK(file.tensors().size() == expected().first.size() + expected().extra.size());
  const int64_t streams = file.at(kStatePositions).shape.at(0);
  for (const auto& [name, first] : expected().first) {
    const TensorInfo& info = file.at(name);
    FUZZ_CHECK(info.shape.size() == first.shape.size() && info.shape.at(0) == streams);
    FUZZ_CHECK(size_of(info.dtype) <= size_of(first.dtype));
  }
  FUZZ_CHECK(file.at("session.pending").elements() <= 8);
  const auto positions = file.at(kStatePositions).bytes;
  FUZZ_CHECK(std::ranges::equal(positions, file.at("layers.0.count").bytes));
  FUZZ_CHECK(std::ranges::equal(positions, file.at("layers.1.count").bytes));
}

}  // namespace
}  // namespace longspan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace longspan;
  static const fuzz::Folder folder;
  const std::string path = folder.put("state", fuzz::text_of(data, size));
  try {
    const SafetensorsFile file(path);
    check_state_file(file, fuzz::expected());
    fuzz::check_accepted(file);
  } catch (const InputError&) {
  }
  return 0;
}
