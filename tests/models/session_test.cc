#include "longspan/models/session.h"

#include <gtest/gtest.h>

#include <numeric>

#include "longspan/models/generate.h"
#include "longspan/models/session_file.h"
#include "longspan/models/state_file.h"
#include "longspan/models/stream_reader.h"
#include "tests/io/scratch_folder.h"
#include "tests/models/small_models.h"

namespace longspan::models {
namespace {

TEST(RecentTokens, AreTheLast) {
  RecentTokens recent;
  EXPECT_TRUE(recent.view().empty());
  std::vector<int64_t> all(3 * kRecentTokens + 5);
  std::iota(all.begin(), all.end(), 0);
  const std::span<const int64_t> tokens(all);
  std::size_t done = 0;
  for (const std::size_t size : {std::size_t{1}, std::size_t{4095}, std::size_t{3}, std::size_t{5000}}) {
    recent.push(tokens.subspan(done, size));
    done += size;
    const auto view = recent.view();
    ASSERT_EQ(view.size(), std::min<std::size_t>(done, kRecentTokens));
    EXPECT_TRUE(std::equal(view.begin(), view.end(), tokens.begin() + static_cast<std::ptrdiff_t>(done - view.size())));
  }
}

class SessionFiles : public ScratchFolder {
 protected:
  SessionFiles() {
    model_ = small_model(config_);
    session_ = begin_session(*model_);
    const at::Tensor tokens = random_tokens(1, kStreamPiece + 20);
    StreamReader(*model_, session_).read({tokens.const_data_ptr<int64_t>(), static_cast<std::size_t>(tokens.numel())});
    session_.text = std::string("\xE2\x82\0x", 4);
    session_.held = "\xF0";
    session_.seed = 12;
    session_.notes["text"] = "a note, \"quoted\"";
  }
  std::string refusal() {
    return error_of([&] { load_session(path("s"), *model_); });
  }

  ModelConfig config_ = small_config();
  std::shared_ptr<LanguageModel> model_;
  Session session_;
};

TEST_F(SessionFiles, KeepEverything) {
  save_session(path("s"), *model_, session_);
  Session back = load_session(path("s"), *model_);
  EXPECT_EQ(back.tokens(), kStreamPiece + 20);
  EXPECT_EQ(back.pending, session_.pending);
  EXPECT_TRUE(back.last.equal(session_.last));
  EXPECT_TRUE(std::ranges::equal(back.recent.view(), session_.recent.view()));
  EXPECT_EQ(back.text, session_.text);
  EXPECT_EQ(back.held, session_.held);
  EXPECT_EQ(back.seed, session_.seed);
  EXPECT_EQ(back.notes, session_.notes);
  GenerateOptions options;
  options.tokens = 20;
  options.repetition_penalty = 1.5;
  EXPECT_EQ(generate(*model_, back, options), generate(*model_, session_, options));
  save_session(path("again"), *model_, back);
  save_session(path("first"), *model_, session_);
  EXPECT_EQ(get("again"), get("first"));
}

TEST_F(SessionFiles, ANewOneAndADrawnOne) {
  save_session(path("s"), *model_, begin_session(*model_));
  EXPECT_FALSE(load_session(path("s"), *model_).last.defined());
  EXPECT_EQ(load_session(path("s"), *model_).tokens(), 0);
  GenerateOptions options;
  options.tokens = 3;
  generate(*model_, session_, options);
  save_session(path("s"), *model_, session_);
  Session back = load_session(path("s"), *model_);
  EXPECT_EQ(back.pending.size(), 1u) << "the last token drawn";
  EXPECT_EQ(generate(*model_, back, options), generate(*model_, session_, options));
}

TEST_F(SessionFiles, AnyAlteredByteIsRefused) {
  save_session(path("s"), *model_, session_);
  const std::string content = get("s");
  EXPECT_EQ(refusal(), "");
  // Every byte of the header would take long: every 7th, and every one of the tensors near the borders.
  const std::size_t step = 7;
  for (std::size_t i = 0; i < content.size(); i += step) {
    std::string altered = content;
    altered[i] = static_cast<char>(altered[i] ^ 1);
    put("s", altered);
    EXPECT_NE(refusal(), "") << "byte " << i << " of " << content.size();
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, content.size() / 2, content.size() - 1}) {
    put("s", content.substr(0, size));
    EXPECT_NE(refusal(), "") << size;
  }
  put("s", content + "x");
  EXPECT_NE(refusal(), "");
}

TEST_F(SessionFiles, OtherModelsAndOtherFilesAreRefused) {
  save_session(path("s"), *model_, session_);
  const std::string begin = path("s") + ": ";
  model_ = small_model(config_, 8);
  EXPECT_EQ(refusal(), begin + "the state belongs to another model, of the same configuration with other weights");
  config_.heads = 4;
  model_ = small_model(config_);
  EXPECT_EQ(refusal(), begin + "the state belongs to another model, with heads = 2, this one has 4");
  config_ = small_config("softmax");
  model_ = small_model(config_);
  EXPECT_EQ(refusal(),
            begin + "the state belongs to another model, with attention = \"lavo\", this one has \"softmax\"");
  save_state(path("s"), *model_, model_->begin(1));
  EXPECT_EQ(refusal(), begin + "expected format longspan.session.1, got longspan.state.2");
  EXPECT_EQ(error_of([&] { load_session(path("none"), *model_); }).rfind(path("none"), 0), 0u);
}

TEST_F(SessionFiles, AFittingFingerprintIsNotEnough) {
  save_session(path("s"), *model_, session_);
  NamedTensors written;
  Metadata metadata;
  {
    const SafetensorsFile file(path("s"));
    for (const auto& [name, info] : file.tensors()) written[name] = read_tensor(file, name);
    metadata = file.metadata();
  }
  const auto changed = [&](const std::function<void(NamedTensors&, Metadata&)>& change) {
    NamedTensors tensors = written;
    Metadata texts = metadata;
    change(tensors, texts);
    texts["fingerprint"] = content_fingerprint(tensors, texts);
    write_tensors(path("s"), tensors, texts);
    return refusal();
  };
  const std::string begin = path("s") + ": ";
  EXPECT_EQ(changed([](NamedTensors&, Metadata&) {}), "");
  EXPECT_EQ(changed([](NamedTensors& t, Metadata&) { t["session.pending"] = torch::tensor({3, 11}); }),
            begin + "tensor 'session.pending' must hold tokens below 11");
  EXPECT_NE(changed([](NamedTensors& t, Metadata&) { t["session.recent"] = torch::tensor({-1}); }), "");
  EXPECT_NE(changed([](NamedTensors& t, Metadata&) { t["session.recent"] = torch::zeros({5000}, torch::kLong); }), "");
  EXPECT_EQ(changed([](NamedTensors& t, Metadata&) { t["session.last"] = torch::zeros({0}, torch::kDouble); }),
            begin + "tensor 'session.last' must have 16 numbers, got 0");
  EXPECT_NE(changed([](NamedTensors& t, Metadata&) { t["session.last"] = torch::zeros({16}); }), "") << "float32";
  EXPECT_EQ(changed([](NamedTensors& t, Metadata&) { t.erase("session.text"); }),
            begin + "tensor 'session.text' is missing");
  EXPECT_EQ(changed([](NamedTensors& t, Metadata&) { t["session.more"] = torch::zeros({2}); }),
            begin + "tensor 'session.more' is not part of the state");
  EXPECT_EQ(changed([](NamedTensors&, Metadata& m) { m["seed"] = "-4"; }),
            begin + "seed must be an integer of at least 0, got -4");
  EXPECT_EQ(changed([](NamedTensors&, Metadata& m) { m["configuration"] = "[]"; }),
            begin + "configuration must be an object");
}

}  // namespace
}  // namespace longspan::models
