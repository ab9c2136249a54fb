// Datasets of SentencePiece tokens: what is stored agrees with the tokenizer, and with the bytes of the source.
#include <numeric>

#include "longspan/data/tokenizer_file.h"
#include "longspan/io/json.h"
#include "tests/data/dataset_case.h"
#include "tests/text/sentencepiece_models.h"

namespace longspan {
namespace {

namespace fs = std::filesystem;

class SentencePieceDatasetTest : public DatasetCase {
 protected:
  std::string model(const std::string& content, const std::string& name = "some.model") { return put(name, content); }
  /// Lines of words, blanks in rows, empty lines and what the models do not know.
  static std::string prose(int lines, int salt) {
    const auto sentences = model_sentences();
    std::string out;
    for (int i = 0; i < lines; ++i) {
      out += sentences[static_cast<std::size_t>(i * 7 + salt) % sentences.size()];
      if (i % 5 == salt % 5) out += "  ß €€ " + std::string(static_cast<std::size_t>(i % 3) * 200, '#') + " ";
      out += i % 11 == 0 ? "\n\n \n" : "\n";
    }
    return out;
  }
  DatasetOptions with_model(const std::string& content, std::vector<std::string> inputs,
                            std::vector<std::string> held_out = {}) {
    auto out = options(std::move(inputs), std::move(held_out));
    out.tokenizer = model(content);
    return out;
  }
};

TEST_F(SentencePieceDatasetTest, TokensAndSourceBytesOfEveryDocument) {
  for (const std::string& content : {unigram_model(), byte_pair_model(), character_model()}) {
    const std::vector<std::string> texts = {prose(300, 1), prose(500, 2), "\n\n" + prose(200, 3)};
    auto wanted =
        with_model(content, {put("a", texts[0]), put("blanks", "\n \n"), put("b", texts[1]), put("c", texts[2])});
    wanted.valid_fraction = 0.25;
    wanted.overwrite = true;
    write_dataset(wanted, progress_);
    const Dataset set(path("set"));
    const Tokenizer& tokenizer = set.tokenizer();

    // By the tokenizer alone. Blanks by themselves are no document where the model drops them.
    Encoding all;
    std::vector<int64_t> begins;
    for (const std::string& text : {texts[0], std::string("\n \n"), texts[1], texts[2]}) {
      const Encoding encoding = tokenizer.encode_aligned(text);
      if (encoding.tokens.empty()) continue;
      begins.push_back(static_cast<int64_t>(all.tokens.size()));
      all.tokens.insert(all.tokens.end(), encoding.tokens.begin(), encoding.tokens.end());
      all.source_bytes.insert(all.source_bytes.end(), encoding.source_bytes.begin(), encoding.source_bytes.end());
    }
    const int64_t train = set.info("train").tokens, valid = set.info("valid").tokens;
    auto stored = tokens(set, "train");
    for (const uint32_t token : tokens(set, "valid")) stored.push_back(token);
    EXPECT_EQ(stored, all.tokens);
    const auto bytes = [&](int64_t first, int64_t count) {
      return std::accumulate(all.source_bytes.begin() + first, all.source_bytes.begin() + first + count, int64_t{0});
    };
    for (int64_t first = 0; first < train; first += 97)
      for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{300}, train - first})
        if (first + count <= train) {
          ASSERT_EQ(set.source_bytes("train", first, count), bytes(first, count));
        }
    for (int64_t first = 0; first < valid; first += 13)
      ASSERT_EQ(set.source_bytes("valid", first, valid - first), bytes(train + first, valid - first));
    EXPECT_EQ(set.info("train").source_bytes, bytes(0, train));
    // The cut is at the first token that begins in the last quarter.
    const int64_t total = bytes(0, train + valid);
    EXPECT_GE(bytes(0, train), total - total / 4);
    EXPECT_LT(bytes(0, train - 1), total - total / 4);
    for (std::size_t i = 0; i < begins.size(); ++i)
      if (begins[i] < train) {
        EXPECT_EQ(set.documents("train").begin(static_cast<int64_t>(i)), begins[i]);
      }
    EXPECT_EQ(set.documents("valid").end(set.documents("valid").size() - 1), valid);
  }
}

TEST_F(SentencePieceDatasetTest, DrawnDocumentsAndHeldOutText) {
  const std::string text = prose(2000, 1), other = prose(300, 4);
  auto wanted = with_model(byte_pair_model(), {put("a", text)}, {put("b", other)});
  wanted.documents = DocumentRule::line;
  wanted.split_by = SplitBy::document;
  wanted.valid_fraction = 0.3;
  const auto infos = write_dataset(wanted, progress_);
  EXPECT_EQ(infos.at("train").source_bytes + infos.at("valid").source_bytes, static_cast<int64_t>(text.size()));
  EXPECT_EQ(infos.at("test").source_bytes, static_cast<int64_t>(other.size()));
  const Dataset set(path("set"));
  EXPECT_EQ(set.tokenizer().decode(tokens(set, "test")), other) << "this model loses nothing";
  for (const auto& split : {"train", "valid"})
    for (int64_t i = 0; i < set.documents(split).size(); i += 50) {
      const int64_t begin = set.documents(split).begin(i), end = set.documents(split).end(i);
      const std::string line = set.tokenizer().decode(tokens(set, split, begin, end));
      EXPECT_NE(text.find(line), std::string::npos);
      EXPECT_EQ(set.source_bytes(split, begin, end - begin), static_cast<int64_t>(line.size()));
    }
}

TEST_F(SentencePieceDatasetTest, ThreadsChangeNothing) {
  // More than one batch of 4 MiB, and of short documents.
  const std::string text = prose(80000, 1) + "\xFF";
  const std::string good = text.substr(0, text.size() - 1);
  auto wanted = with_model(byte_pair_model(), {put("a", good), put("b", prose(10, 2))});
  ASSERT_GT(good.size(), std::size_t{5} << 20);
  wanted.documents = DocumentRule::line;
  wanted.split_by = SplitBy::document;
  write_dataset(wanted, progress_);
  std::map<std::string, std::string> first;
  for (const auto& entry : fs::directory_iterator(path("set")))
    first[entry.path().filename()] = get("set/" + entry.path().filename().string());
  wanted.threads = 3;
  wanted.overwrite = true;
  write_dataset(wanted, progress_);
  for (const auto& [name, content] : first) EXPECT_TRUE(get("set/" + name) == content) << name;
  // Of two faults the first one is named.
  wanted.inputs = {put("a", text), put("b", text)};
  EXPECT_EQ(refusal(wanted), path("a") + ": is not UTF-8 at byte " + std::to_string(good.size()) +
                                 " of the text (0xff); convert it, or use the tokenizer bytes");
}

TEST_F(SentencePieceDatasetTest, TheFolderHoldsTheModel) {
  const std::string content = unigram_model();
  write_dataset(with_model(content, {put("a", prose(600, 1))}), progress_);
  EXPECT_EQ(get("set/tokenizer.model"), content);
  EXPECT_FALSE(fs::exists(path("set/tokenizer.json")));
  EXPECT_EQ(Dataset(path("set")).vocabulary(), load_tokenizer(path("set"))->vocabulary_size());
  const auto open = [&] { return error_of([&] { Dataset set(path("set")); }); };

  put("set/tokenizer.json", "{\"tokenizer\": \"bytes\"}");
  EXPECT_EQ(open(), path("set") + ": holds two tokenizers, tokenizer.json and tokenizer.model");
  fs::remove(path("set/tokenizer.json"));
  put("set/tokenizer.model", content.substr(0, 1000));
  EXPECT_EQ(open(), path("set/tokenizer.model") + ": is not a SentencePiece model, or a damaged one");
  // Another model of as many pieces.
  put("set/tokenizer.model", suffix_model());
  EXPECT_EQ(open(), path("set/dataset.json") + ": fingerprint is that of another tokenizer than tokenizer.model");
  put("set/tokenizer.model", content);
  fs::rename(path("set/train.source.bin"), path("away"));
  EXPECT_EQ(open(), path("set/train.source.bin") + ": cannot be opened: No such file or directory");
  fs::rename(path("away"), path("set/train.source.bin"));
  EXPECT_EQ(open(), "");
  // Bytes again: nothing of the model stays behind.
  auto again = options({path("a")});
  again.overwrite = true;
  write_dataset(again, progress_);
  EXPECT_FALSE(fs::exists(path("set/tokenizer.model")) || fs::exists(path("set/train.source.bin")));
}

TEST_F(SentencePieceDatasetTest, TextThatIsNotUtf8IsRefusedWithItsPlace) {
  const std::string good = prose(600, 1);
  put("a", good);
  put("b", good + "\nna\xEFve\n" + good);
  const auto refused = [&](const std::string& name) {
    return refusal(with_model(unigram_model(), {path("a"), path(name)}));
  };
  model("");  // so that it is not new below
  EXPECT_EQ(refused("b"), path("b") + ": is not UTF-8 at byte " + std::to_string(good.size() + 3) +
                              " of the text (0xef); convert it, or use the tokenizer bytes");
  put("c", good + "\xE2\x82");
  EXPECT_EQ(refused("c"), path("c") + ": is not UTF-8 at byte " + std::to_string(good.size()) +
                              " of the text (0xe2); convert it, or use the tokenizer bytes");
  put("d", good + "<>" + good + "<>x\xFF");
  auto wanted = with_model(unigram_model(), {path("d")});
  wanted.documents = DocumentRule::separator;
  wanted.separator = "<>";
  EXPECT_EQ(refusal(wanted), path("d") + ": is not UTF-8 at byte " + std::to_string(2 * good.size() + 5) +
                                 " of the text (0xff); convert it, or use the tokenizer bytes");
}

TEST_F(SentencePieceDatasetTest, TextThatGivesNoToken) {
  const auto wanted = with_model(unigram_model(), {put("a", "\n\n   \n")});
  EXPECT_EQ(refusal(wanted),
            "prepare: nothing to hold out: the training text has 0 tokens, at least 2050 are needed; --valid-fraction 0 "
            "holds nothing out");
  auto without = wanted;
  without.valid_fraction = 0;
  EXPECT_EQ(refusal(without),
            "prepare: too little to train on: the training text has 0 tokens, at least 1025 are needed");
  const auto held_out = with_model(unigram_model(), {put("b", prose(600, 1))}, {path("a")});
  EXPECT_EQ(refusal(held_out), "prepare: the text of the split test gives no token");
}

}  // namespace
}  // namespace longspan
