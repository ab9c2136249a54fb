#include "longspan/io/json.h"

#include <limits>

#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

using JsonTest = ScratchFolder;

std::string parse_error(std::string_view text) {
  return error_of([&] { parse_json(text, "c.json"); });
}
bool starts_with(const std::string& text, std::string_view start) { return text.starts_with(start); }

TEST_F(JsonTest, RoundTripKeepsOrderAndValues) {
  const std::string text = R"({"z": 1, "a": [true, null, -2, 0.1, "é\n"], "o": {"x": {}}})";
  const Json json = parse_json(text, "c.json");
  EXPECT_EQ(json.begin().key(), "z");
  EXPECT_EQ(json["a"][3].get<double>(), 0.1);
  save_json(path("c.json"), json);
  EXPECT_EQ(load_json(path("c.json")), json);
  EXPECT_EQ(load_json(path("c.json")).dump(), json.dump());
  EXPECT_EQ(names(), std::vector<std::string>{"c.json"});
}

TEST_F(JsonTest, ScalarsStandAlone) {
  EXPECT_EQ(parse_json(" 3 ", "c.json"), Json(3));
  EXPECT_EQ(parse_json("[]", "c.json"), Json::array());
}

TEST_F(JsonTest, SyntaxErrorsSayWhere) {
  const std::string message = parse_error("{\n  \"a\": 1,\n  \"b\": oops\n}");
  EXPECT_TRUE(starts_with(message, "c.json:3:8: ")) << message;
  EXPECT_TRUE(starts_with(parse_error(""), "c.json:1:1: ")) << parse_error("");
  EXPECT_TRUE(starts_with(parse_error("{} {}"), "c.json:1:4: ")) << parse_error("{} {}");
  EXPECT_TRUE(starts_with(parse_error("[1,"), "c.json:1:")) << parse_error("[1,");
  EXPECT_EQ(parse_error("{\"a\": 1e999}"), "c.json:1:11: number overflow parsing '1e999'");
  EXPECT_TRUE(starts_with(parse_error("[\"\xff\"]"), "c.json:1:3: ")) << parse_error("[\"\xff\"]");
  EXPECT_TRUE(starts_with(parse_error("[NaN]"), "c.json:1:")) << parse_error("[NaN]");
}

TEST_F(JsonTest, KeysThatStandTwice) {
  EXPECT_EQ(parse_error("{\"a\": 1,\n \"b\": 2, \"a\": 3}"), "c.json:2:12: the key 'a' stands twice in one object");
  EXPECT_EQ(parse_json(R"({"a": {"b": 1}, "b": [{"a": 2}, {"a": 3}]})", "c.json")["b"][1]["a"], Json(3));
}

TEST_F(JsonTest, DepthIsLimited) {
  const std::string deepest = std::string(64, '[') + std::string(64, ']');
  EXPECT_TRUE(parse_json(deepest, "c.json").is_array());
  EXPECT_EQ(parse_error(std::string(65, '[')), "c.json:1:65: nested deeper than 64");
  EXPECT_EQ(parse_error(std::string(1000000, '[')), "c.json:1:65: nested deeper than 64");
}

TEST_F(JsonTest, FilesThatCannotBeRead) {
  EXPECT_EQ(error_of([&] { load_json(path("none")); }), path("none") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(error_of([&] { load_json(folder_); }), folder_ + ": is a directory, expected a file");
}

TEST_F(JsonTest, FieldValues) {
  const FieldValues values = {{"b", true}, {"i", int64_t{-3}}, {"n", std::monostate()},
                              {"r", 0.1},  {"t", "text"},      {"w", 2.0}};
  const Json json = to_json(values);
  EXPECT_EQ(json.dump(), R"({"b":true,"i":-3,"n":null,"r":0.1,"t":"text","w":2.0})");
  EXPECT_EQ(to_field_values(parse_json(json.dump(), "c"), "c"), values);  // 2.0 stays a real

  EXPECT_EQ(error_of([] { to_field_values(Json::array(), "lavo"); }), "lavo: expected an object, got array");
  EXPECT_EQ(error_of([] {
              to_field_values(Json{{"r", {1, 2}}}, "lavo");
            }),
            "lavo: r must be a number, text, true, false or null, got array");
  EXPECT_EQ(error_of([] { to_field_values(parse_json(R"({"r": 9223372036854775808})", "c"), "lavo"); }),
            "lavo: r is too large an integer: 9223372036854775808");
  EXPECT_EQ(to_field_values(parse_json(R"({"r": 9223372036854775807})", "c"), "lavo").at("r"),
            FieldValue(std::numeric_limits<int64_t>::max()));
  EXPECT_EQ(error_of([] { to_json(FieldValue(std::numeric_limits<double>::infinity())); }),
            "JSON has no number for inf");
}

TEST_F(JsonTest, SavingRefusesWhatIsNoUtf8) {
  EXPECT_EQ(error_of([&] { save_json(path("c"), Json("\xff")); }),
            path("c") + ": a text to be saved is not valid UTF-8");
  EXPECT_TRUE(names().empty());
}

}  // namespace
}  // namespace longspan
