#include "longspan/io/state_file.h"

#include <gtest/gtest.h>

#include "longspan/io/fingerprint.h"
#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

/// A tensor of 64-bit integers.
struct Counts {
  std::vector<int64_t> shape, values;
};
using Content = std::map<std::string, Counts>;

class StateFile : public ScratchFolder {
 protected:
  /// What check_state_file() says of `content` in a file that agrees with itself.
  std::string error(const Content& content, std::map<std::string, std::string> metadata = {}) const {
    std::vector<TensorToWrite> tensors;
    Fingerprint fingerprint;
    for (const auto& [name, counts] : content) {
      tensors.push_back({name, DType::i64, counts.shape, counts.values.data()});
      for (const auto& part : {name, std::string("I64"), shape_text(counts.shape)}) fingerprint.add(part);
      fingerprint.add(counts.values.data(), 8 * counts.values.size());
    }
    metadata.insert({{"format", kStateFormat}, {"model", "me"}, {"fingerprint", fingerprint.hex()}});
    write_safetensors(path("state"), tensors, metadata);
    const std::map<std::string, TensorLayout> first = {{kStatePositions, {DType::i64, {1}}},
                                                       {"layers.0.count", {DType::i64, {1}}},
                                                       {"layers.0.seen", {DType::i64, {1, 0, 2}}}};
    const std::string text = error_of([&] { check_state_file(SafetensorsFile(path("state")), "me", first); });
    return text.empty() ? "" : text.substr((path("state") + ": ").size());
  }

  Content good_ = {
      {"positions", {{2}, {7, 3}}}, {"layers.0.count", {{2}, {7, 3}}}, {"layers.0.seen", {{2, 1, 2}, {1, 2, 3, 4}}}};
};

TEST_F(StateFile, TheBatchIsFreeAndACacheGrows) {
  EXPECT_EQ(error(good_), "");
  good_["layers.0.seen"] = {{2, 0, 2}, {}};
  EXPECT_EQ(error(good_), "");
  EXPECT_EQ(error({{"positions", {{0}, {}}}, {"layers.0.count", {{0}, {}}}, {"layers.0.seen", {{0, 5, 2}, {}}}}), "");
}

TEST_F(StateFile, NamesWhatDoesNotFit) {
  EXPECT_EQ(error(good_, {{"format", "longspan.state.9"}}), "expected format longspan.state.1, got longspan.state.9");
  EXPECT_EQ(error(good_, {{"model", "you"}}),
            "the state belongs to another model (another configuration or other weights)");
  EXPECT_EQ(error(good_, {{"fingerprint", "0"}}), "the content was altered after it was written");
  const auto with = [&](const std::string& name, Counts counts) {
    Content content = good_;
    content[name] = std::move(counts);
    return error(content);
  };
  EXPECT_EQ(with("positions", {{1, 2}, {7, 3}}), "positions must be [batch], got [1, 2]");
  EXPECT_EQ(with("layers.1.count", {{2}, {7, 3}}), "tensor 'layers.1.count' is not part of the state");
  EXPECT_EQ(with("layers.0.count", {{2}, {7, 4}}), "tensor 'layers.0.count' must equal positions");
  EXPECT_EQ(with("layers.0.count", {{}, {7}}),
            "tensor 'layers.0.count' must be I64 like [1] of each of 2 streams, got I64 []");
  EXPECT_EQ(with("layers.0.seen", {{2, 1, 1}, {1, 2}}),
            "tensor 'layers.0.seen' must be I64 like [1, 0, 2] of each of 2 streams, got I64 [2, 1, 1]");
  EXPECT_EQ(with("layers.0.seen", {{2, 1, 2}, {1, 2, 3, -4}}), "tensor 'layers.0.seen' must count from 0 to 2^53");
  good_.erase("positions");
  EXPECT_EQ(error(good_), "tensor 'positions' is missing");
}

}  // namespace
}  // namespace longspan
