#include <signal.h>
#include <sys/resource.h>

#include <cmath>

#include "longspan/data/write_dataset.h"
#include "longspan/io/json.h"
#include "tests/data/dataset_case.h"

namespace longspan {
namespace {

namespace fs = std::filesystem;

class DatasetTest : public DatasetCase {};

class Recorder final : public Progress {
 public:
  void message(std::string_view) override {}
  void report(const ProgressReport& report) override {
    EXPECT_GE(report.done, done);
    EXPECT_LE(report.done, report.total);
    EXPECT_EQ(report.unit, "bytes");
    done = report.done;
    total = report.total;
    ++calls;
  }
  int64_t done = 0;
  int64_t total = 0;
  int calls = 0;
};

TEST_F(DatasetTest, RoundTrip) {
  // More than one piece of 1 MiB; every byte value.
  const std::string a = text_of_size(1500000, 1);
  const std::string b = text_of_size(700000, 2);
  const std::string c = text_of_size(3000, 3);
  Recorder recorder;
  const auto infos = write_dataset(options({put("a", a), put("b", b)}, {put("c", c)}), recorder);
  EXPECT_EQ(recorder.done, 2203000);
  EXPECT_EQ(recorder.total, 2203000);
  EXPECT_GE(recorder.calls, 4);

  const Dataset set(path("set"));
  const int64_t valid = 44000;  // 2 % of 2,200,000
  EXPECT_EQ(text(set, "train"), a + b.substr(0, b.size() - valid));
  EXPECT_EQ(text(set, "valid"), b.substr(b.size() - valid));
  EXPECT_EQ(text(set, "test"), c);
  EXPECT_EQ(set.info("train").tokens, 2156000);
  EXPECT_EQ(set.info("train").source_bytes, 2156000);
  EXPECT_EQ(set.info("train").documents, 2);
  EXPECT_EQ(set.info("valid").documents, 1);
  EXPECT_EQ(set.documents("train").begin(1), 1500000);
  EXPECT_EQ(set.documents("train").end(1), 2156000);
  EXPECT_EQ(set.source_bytes("train", 1499990, 20), 20);
  EXPECT_EQ(error_of([&] { set.source_bytes("train", 2155999, 2); }),
            path("set/train.bin") + ": 2 tokens from 2155999 on are asked for, it holds 2156000");
  EXPECT_EQ(set.vocabulary(), 256);
  EXPECT_EQ(set.tokenizer().name(), "bytes");
  EXPECT_EQ(set.split_names(), (std::vector<std::string>{"test", "train", "valid"}));
  EXPECT_EQ(infos.at("test").tokens, 3000);
  EXPECT_EQ(names(), (std::vector<std::string>{"a", "b", "c", "set"}));
  EXPECT_TRUE(Dataset::is_dataset(path("set")));
  EXPECT_FALSE(Dataset::is_dataset(path("a")));
  EXPECT_FALSE(Dataset::is_dataset(path("none")));

  const Json json = load_json(path("set/dataset.json"));
  EXPECT_EQ(json["format_version"], Json(2));
  EXPECT_EQ(json["dtype"], Json("uint8"));
  EXPECT_EQ(json["splits"]["valid"]["source_bytes"], Json(valid));
}

TEST_F(DatasetTest, ValidationSpansFilesAndHasAMinimum) {
  const std::string a = text_of_size(2000, 1);
  const std::string b = text_of_size(100, 2);
  write_dataset(options({put("a", a), put("b", b)}), progress_);
  const Dataset set(path("set"));
  EXPECT_EQ(text(set, "train") + text(set, "valid"), a + b);
  EXPECT_EQ(set.split("valid").size(), kLeastSplitTokens);
  EXPECT_EQ(set.info("train").documents, 1);
  EXPECT_EQ(set.info("valid").documents, 2);
  EXPECT_EQ(set.documents("valid").end(0), kLeastSplitTokens - 100);
  EXPECT_EQ(set.documents("valid").find(kLeastSplitTokens - 100), 1);
  EXPECT_FALSE(set.has("test"));
  EXPECT_EQ(error_of([&] { set.split("test"); }), path("set") + ": has no split 'test', only: train, valid");
}

TEST_F(DatasetTest, CutBetweenFilesLeavesNoEmptyDocument) {
  const std::string a = text_of_size(kLeastSplitTokens, 1);
  write_dataset(options({put("a", a), put("b", a)}), progress_);
  const Dataset set(path("set"));
  EXPECT_EQ(set.split("train").size(), kLeastSplitTokens);
  EXPECT_EQ(set.split("valid").size(), kLeastSplitTokens);
  EXPECT_EQ(set.info("train").documents, 1);
  EXPECT_EQ(set.info("valid").documents, 1);
}

TEST_F(DatasetTest, InputsThatAreRefused) {
  const std::string good = put("good", text_of_size(5000, 0));
  const std::string small = put("small", text_of_size(2 * kLeastSplitTokens - 1, 0));
  const std::string empty = put("empty", "");
  fs::create_directory(path("folder"));
  fs::create_symlink("good", path("link"));
  EXPECT_EQ(refusal(options({})), "prepare: no input file given");
  EXPECT_EQ(refusal(options({good, empty})), empty + ": is empty");
  EXPECT_EQ(refusal(options({good}, {empty})), empty + ": is empty");
  EXPECT_EQ(refusal(options({""})), "the name of a text file is empty");
  EXPECT_EQ(refusal(options({path("none")})), path("none") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(refusal(options({path("folder")})), path("folder") + ": holds no files");
  EXPECT_EQ(refusal(options({good, good})), good + ": stands twice among the files");
  EXPECT_EQ(refusal(options({"/dev/null"})), "/dev/null: is not a regular file");
  EXPECT_EQ(refusal(options({small})),
            "prepare: nothing to hold out: the training text has 2049 bytes, at least 2050 are needed; --valid-fraction 0 "
            "holds nothing out");
  EXPECT_EQ(refusal(options({good}, {path("link")})), path("link") + ": is held out and trained on at once");
  auto wrong = options({good});
  for (const double fraction : {-1.0, 0.6, std::nan("")}) {
    wrong.valid_fraction = fraction;
    EXPECT_TRUE(refusal(wrong).starts_with("prepare: valid_fraction must be from 0 to 0.5, got ")) << fraction;
  }
  auto nowhere = options({good});
  nowhere.output = "";
  EXPECT_EQ(refusal(nowhere), "prepare: no output folder given");
}

TEST_F(DatasetTest, ExistingOutput) {
  auto first = options({put("a", text_of_size(5000, 1))});
  write_dataset(first, progress_);
  auto second = options({put("b", text_of_size(6000, 2))});
  EXPECT_EQ(refusal(second), path("set") +
                                 ": a dataset exists there already; give another folder, or --overwrite to "
                                 "replace it");
  EXPECT_EQ(Dataset(path("set")).split("train").size(), 5000 - kLeastSplitTokens);
  second.overwrite = true;
  write_dataset(second, progress_);
  EXPECT_EQ(Dataset(path("set")).split("train").size(), 6000 - kLeastSplitTokens);

  // A folder that is not a dataset is never replaced.
  fs::create_directory(path("home"));
  put("home/letter", "dear");
  second.output = path("home");
  EXPECT_EQ(refusal(second), path("home") + ": exists and is not a dataset");
  EXPECT_EQ(get("home/letter"), "dear");
  second.output = path("a");
  EXPECT_EQ(refusal(second), path("a") + ": exists and is not a dataset");
}

TEST_F(DatasetTest, ADatasetIsNeitherTextNorAPlaceToWriteIn) {
  const std::string good = put("good", text_of_size(5000, 1));
  write_dataset(options({good}), progress_);
  fs::create_directory(path("above"));
  fs::rename(path("set"), path("above/set"));
  const std::string refused = path("above/set") + ": is a dataset, which is not text; name the files it was made of";
  EXPECT_EQ(refusal(options({path("above/set")})), refused);
  EXPECT_EQ(refusal(options({path("above")})), refused);
  EXPECT_EQ(refusal(options({good}, {path("above/set")})), refused);
  auto inside = options({good});
  for (const char* place : {"above/set/sub", "above/set/deep/sub/", "above/../above/set/sub"}) {
    inside.output = path(place);
    EXPECT_EQ(refusal(inside), path(place) + ": lies inside the dataset " + fs::canonical(path("above/set")).string());
  }
  EXPECT_FALSE(fs::exists(path("above/set/deep")));

  // Somebody else's dataset.json makes no dataset of a folder.
  fs::create_directory(path("corpus"));
  put("corpus/dataset.json", text_of_size(5000, 2));
  auto theirs = options({path("corpus")});
  theirs.output = path("corpus/out/");
  write_dataset(theirs, progress_);
  EXPECT_EQ(Dataset(path("corpus/out")).split("train").size(), 5000 - kLeastSplitTokens);
  theirs.output = path("corpus/out/");
  theirs.inputs = {good};
  theirs.overwrite = true;
  write_dataset(theirs, progress_);  // "out/" is "out", not a place inside it
}

TEST_F(DatasetTest, OverwritingTakesNothingOfTheUsersWithIt) {
  const std::string content = text_of_size(5000, 1), outside = put("a", content);
  write_dataset(options({outside}), progress_);
  auto again = options({outside});
  again.overwrite = true;

  put("set/notes.txt", content);
  EXPECT_EQ(refusal(again), path("set") + ": holds 'notes.txt', so the folder is not replaced");
  again.inputs.push_back(path("set/notes.txt"));
  EXPECT_EQ(refusal(again), path("set/notes.txt") + ": lies inside the output folder " + path("set"));
  EXPECT_EQ(get("set/notes.txt"), content);
  fs::remove(path("set/notes.txt"));

  // Also a file that belongs to the dataset, on either side, by whatever way it is named.
  fs::create_symlink("set/train.bin", path("link"));
  again.inputs = {path("link")};
  EXPECT_EQ(refusal(again), path("link") + ": lies inside the output folder " + path("set"));
  again.inputs = {outside};
  again.held_out = {path("set/../set/valid.bin")};
  EXPECT_EQ(refusal(again), path("set/../set/valid.bin") + ": lies inside the output folder " + path("set"));
  EXPECT_EQ(Dataset(path("set")).split("train").size(), 5000 - kLeastSplitTokens);

  again.held_out.clear();
  write_dataset(again, progress_);
  EXPECT_EQ(names(), (std::vector<std::string>{"a", "link", "set"}));
}

TEST_F(DatasetTest, FullDiskLeavesNothing) {
  const auto before_signal = ::signal(SIGXFSZ, SIG_IGN);
  const auto wanted = options({put("a", text_of_size(50000, 1))});
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{20000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const std::string message = error_of<RunError>([&] { write_dataset(wanted, progress_); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, before_signal);
  EXPECT_EQ(message, path("set/train.bin") + ": cannot be written: File too large");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(DatasetTest, DamagedFolders) {
  write_dataset(options({put("a", text_of_size(5000, 1))}), progress_);
  const auto open = [&] { return error_of([&] { Dataset set(path("set")); }); };
  const std::string json_path = path("set/dataset.json");
  const std::string good = get("set/dataset.json");
  const auto changed = [&](auto change) {
    Json json = parse_json(good, "good");
    change(json);
    save_json(json_path, json);
    const std::string message = open();
    put("set/dataset.json", good);
    return message;
  };
  EXPECT_EQ(changed([](Json& json) { json["format_version"] = 3; }), json_path + ": format_version must be 2, got 3");
  EXPECT_EQ(
      changed([](Json& json) { json["format_version"] = 1; }),
      json_path + ": format_version 1 is that of an older longspan; make the dataset again with longspan prepare");
  EXPECT_EQ(changed([](Json& json) { json.erase("format_version"); }),
            json_path + ": format_version must be an integer from 1 to 9223372036854775807");
  EXPECT_EQ(changed([](Json& json) { json["format_version"] = (uint64_t{1} << 63) + 1; }),
            json_path + ": format_version must be an integer from 1 to 9223372036854775807");
  EXPECT_EQ(changed([](Json& json) { json["tokenizer"] = "words"; }),
            json_path + ": tokenizer must be bytes, as the tokenizer in the folder");
  EXPECT_EQ(changed([](Json& json) { json["vocabulary"] = 300; }),
            json_path + ": vocabulary is 300, but the tokenizer has 256");
  EXPECT_EQ(changed([](Json& json) { json["dtype"] = "uint16"; }),
            json_path + ": dtype must be uint8 for a vocabulary of 256");
  EXPECT_EQ(changed([](Json& json) { json["splits"]["train"]["tokens"] = 7; }),
            path("set/train.bin") + ": holds 3975 tokens, but dataset.json says 7");
  for (const char* key : {"tokens", "source_bytes", "documents"})
    for (const uint64_t value : {uint64_t{0}, uint64_t{1} << 63})
      EXPECT_EQ(changed([&](Json& json) { json["splits"]["train"][key] = value; }),
                json_path + ": split train: " + key + " must be an integer from 1 to 9223372036854775807");
  EXPECT_EQ(changed([](Json& json) { json["splits"]["train"]["source_bytes"] = 3974; }),
            json_path + ": split train: 3975 tokens of one byte each, but source_bytes says 3974");
  EXPECT_EQ(changed([](Json& json) { json["splits"]["train"]["documents"] = 3976; }),
            json_path + ": split train: 3976 documents in 3975 source_bytes");
  EXPECT_EQ(changed([](Json& json) { json["splits"]["train"]["documents"] = 2; }),
            path("set/train.documents.bin") + ": holds 1 documents, but dataset.json says 2");
  EXPECT_EQ(changed([](Json& json) { json["splits"]["../x"] = Json::object(); }),
            json_path + ": split ../x: expected one of train, valid, test");
  EXPECT_EQ(changed([](Json& json) { json["splits"] = 3; }), json_path + ": splits must be an object");
  EXPECT_EQ(changed([](Json& json) { json = Json::array(); }), json_path + ": expected an object, got array");
  EXPECT_EQ(open(), "");
  fs::rename(path("set/train.documents.bin"), path("borders"));
  EXPECT_EQ(open(), path("set/train.documents.bin") + ": cannot be opened: No such file or directory");
  fs::rename(path("borders"), path("set/train.documents.bin"));
  fs::remove(path("set/valid.bin"));
  EXPECT_EQ(open(), path("set/valid.bin") + ": cannot be opened: No such file or directory");
  fs::remove(path("set/tokenizer.json"));
  EXPECT_EQ(open(), path("set/tokenizer.json") + ": cannot be opened: No such file or directory");
  fs::remove(json_path);
  EXPECT_EQ(open(), path("set") +
                        ": is not a dataset: there is no dataset.json in it; longspan prepare "
                        "makes one of text");
}

}  // namespace
}  // namespace longspan
