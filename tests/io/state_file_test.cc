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
  std::string error(const Content& content, const std::map<std::string, std::string>& changes = {}) const {
    std::vector<TensorToWrite> tensors;
    Fingerprint of_tensors, all;
    for (const auto& [name, counts] : content) {
      tensors.push_back({name, DType::i64, counts.shape, counts.values.data()});
      for (const auto& part : {name, std::string("I64"), shape_text(counts.shape)}) of_tensors.add(part);
      of_tensors.add(counts.values.data(), 8 * counts.values.size());
    }
    std::map<std::string, std::string> metadata = changes;
    metadata.insert({{"format", "test.1"}, {"configuration", R"({"layers": 2})"}, {"dtype", "F32"}, {"weights", "me"}});
    all.add(of_tensors.hex());
    for (const auto& [name, text] : metadata)
      if (name != "fingerprint") {
        all.add(name);
        all.add(text);
      }
    metadata.insert({"fingerprint", all.hex()});
    write_safetensors(path("state"), tensors, metadata);
    const ExpectedState expected = {.format = "test.1",
                                    .configuration = {{"layers", 2}},
                                    .dtype = "F32",
                                    .weights = "me",
                                    .first = {{kStatePositions, {DType::i64, {1}}},
                                              {"layers.0.count", {DType::i64, {1}}},
                                              {"layers.0.seen", {DType::i64, {1, 0, 2}}}},
                                    .extra = {{"text", {{DType::i64, DType::u8}, 1, 3}}}};
    const std::string text = error_of([&] { check_state_file(SafetensorsFile(path("state")), expected); });
    return text.empty() ? "" : text.substr((path("state") + ": ").size());
  }

  Content good_ = {{"positions", {{2}, {7, 3}}},
                   {"layers.0.count", {{2}, {7, 3}}},
                   {"layers.0.seen", {{2, 1, 2}, {1, 2, 3, 4}}},
                   {"text", {{2}, {104, 105}}}};
};

TEST_F(StateFile, TheBatchIsFreeAndACacheGrows) {
  EXPECT_EQ(error(good_), "");
  good_["layers.0.seen"] = {{2, 0, 2}, {}};
  EXPECT_EQ(error(good_), "");
  EXPECT_EQ(error({{"positions", {{0}, {}}},
                   {"layers.0.count", {{0}, {}}},
                   {"layers.0.seen", {{0, 5, 2}, {}}},
                   {"text", {{0}, {}}}}),
            "");
}

TEST_F(StateFile, NamesWhatDoesNotFit) {
  EXPECT_EQ(error(good_, {{"format", "test.2"}}), "expected format test.1, got test.2");
  EXPECT_EQ(error(good_, {{"weights", "you"}}),
            "the state belongs to another model, of the same configuration with other weights");
  EXPECT_EQ(error(good_, {{"dtype", "F64"}}), "the state was made with weights of F64, these are F32");
  EXPECT_EQ(error(good_, {{"configuration", R"({"layers": 3})"}}),
            "the state belongs to another model, with layers = 3, this one has 2");
  EXPECT_EQ(error(good_, {{"configuration", "{}"}}),
            "the state belongs to another model, with layers = nothing, this one has 2");
  EXPECT_EQ(error(good_, {{"configuration", R"({"layers": 2, "w": 1})"}}),
            "the state belongs to another model, with w = 1, which this one lacks");
  EXPECT_EQ(error(good_, {{"configuration", "3"}}), "configuration must be an object");
  EXPECT_NE(error(good_, {{"configuration", "{"}}), "");
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
  EXPECT_EQ(with("text", {{4}, {1, 2, 3, 4}}),
            "tensor 'text' must be I64 of 1 dimension with up to 3 rows, got I64 [4]");
  good_.erase("positions");
  EXPECT_EQ(error(good_), "tensor 'positions' is missing");
}

}  // namespace
}  // namespace longspan
