#include "longspan/models/encoder_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "longspan/nn/packing.h"
#include "longspan/text/byte_tokenizer.h"
#include "tests/io/scratch_folder.h"
#include "tests/models/small_encoders.h"

namespace longspan::models {
namespace {

EncoderConfig byte_encoder() {
  EncoderConfig config = small_encoder_config();
  config.vocabulary = 256 + kSpecialTokens;
  return config;
}

HeadConfig head_of(HeadKind kind) {
  HeadConfig head;
  head.kind = kind;
  if (kind == HeadKind::classification || kind == HeadKind::multi_label) head.labels = {"no", "yes, \"so\""};
  return head;
}

class EncoderFiles : public ScratchFolder, public ::testing::WithParamInterface<HeadKind> {};

TEST_P(EncoderFiles, RoundTripKeepsEveryBit) {
  torch::manual_seed(3);
  EncoderModel model(byte_encoder(), head_of(GetParam()));
  model.eval();
  save_encoder(path("model"), model, ByteTokenizer(), parse_json(R"({"task": {"steps": 3}})", "test"));
  const LoadedEncoder loaded = load_encoder(path("model"));
  EXPECT_TRUE(loaded.model->encoder_config() == model.encoder_config());
  EXPECT_EQ(to_json(loaded.model->head_config()).dump(), to_json(model.head_config()).dump());
  EXPECT_EQ(fingerprint(loaded.model->weights()), fingerprint(model.weights()));
  EXPECT_EQ(loaded.config["task"]["steps"], 3);
  EXPECT_FALSE(loaded.model->is_training());
  const SequencePack pack{random_tokens(1, 20, 256), nn::cu_from_lengths({11, 9})};
  EXPECT_TRUE(loaded.model->hidden(pack).equal(model.hidden(pack)));
}

INSTANTIATE_TEST_SUITE_P(All, EncoderFiles,
                         ::testing::Values(HeadKind::masked_language, HeadKind::classification, HeadKind::multi_label,
                                           HeadKind::question),
                         [](const auto& info) { return to_string(info.param); });

class EncoderFolder : public ScratchFolder {
 protected:
  EncoderFolder() {
    torch::manual_seed(3);
    model_ = std::make_shared<EncoderModel>(byte_encoder(), head_of(HeadKind::masked_language));
    save_encoder(path("model"), *model_, ByteTokenizer());
  }
  std::string error_with(const std::function<void(Json&)>& change) const {
    Json config = load_json(path("model/config.json"));
    change(config);
    save_json(path("model/config.json"), config);
    return error_of([&] { load_encoder(path("model")); });
  }
  std::shared_ptr<EncoderModel> model_;
};

TEST_F(EncoderFolder, RefusesADamagedConfiguration) {
  EXPECT_EQ(error_with([](Json& c) { c.erase("head"); }),
            path("model") + "/config.json: expected an object with the member 'head'");
}

TEST_F(EncoderFolder, RefusesAConfigurationThatItsWeightsDoNotFill) {
  // Before memory is taken for it.
  EXPECT_EQ(error_with([](Json& c) { c["encoder"]["feed_forward"] = 1 << 18; }),
            path("model") +
                "/model.safetensors: tensor 'encoder.blocks.1.feed_forward.up.weight' must have shape [262144, 16], "
                "got [24, 16]");
}

TEST_F(EncoderFolder, RefusesAnotherHeadThanItsWeights) {
  EXPECT_EQ(error_with([](Json& c) {
              c["head"] = {{"kind", "question"}};
            }),
            path("model") + "/model.safetensors: tensor 'head.out.weight' is missing");
}

TEST_F(EncoderFolder, RefusesBadValuesByTheirFile) {
  EXPECT_EQ(error_with([](Json& c) { c["encoder"]["hedas"] = 2; }),
            path("model") + "/config.json: encoder: unknown field 'hedas'; did you mean 'heads'?");
  EXPECT_TRUE(error_with([](Json& c) {
                c["encoder"].erase("hedas");
                c["head"]["labels"] = "no";
              }).ends_with("head: labels must be a list, got string"));
}

TEST_F(EncoderFolder, BeginsATaskFromAnother) {
  torch::manual_seed(8);
  EncoderConfig config = byte_encoder();
  config.max_positions = 100;  // longer than what the folder has learnt
  EncoderModel next(config, head_of(HeadKind::classification));
  const at::Tensor drawn = weights_of(next).at("encoder.positions").detach().clone();
  const InitialWeights taken = init_weights(path("model"), ByteTokenizer(), next);
  const NamedTensors from = model_->weights(), into = next.weights();
  EXPECT_TRUE(into.at("encoder.embedding").equal(from.at("encoder.embedding")));
  EXPECT_TRUE(into.at("encoder.positions").narrow(0, 0, 64).equal(from.at("encoder.positions")));
  EXPECT_TRUE(into.at("encoder.positions").narrow(0, 64, 36).equal(drawn.narrow(0, 64, 36)));
  EXPECT_THAT(taken.missing, ::testing::UnorderedElementsAre("head.dense.bias", "head.dense.weight", "head.out.bias",
                                                             "head.out.weight"));
  EXPECT_THAT(taken.left_over, ::testing::UnorderedElementsAre("head.bias", "head.dense.bias", "head.dense.weight",
                                                               "head.norm.bias", "head.norm.weight"));
  EXPECT_FALSE(into.at("head.dense.weight").equal(from.at("head.dense.weight")));
}

}  // namespace
}  // namespace longspan::models
