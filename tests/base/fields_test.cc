#include "longspan/base/fields.h"

#include <gtest/gtest.h>

#include <functional>

namespace longspan {
namespace {

enum class Combine { mean, sum };

struct Options {
  int64_t r = 64;
  double gain = 1.0;
  bool scale = false;
  std::string name = "x";
  Combine combine = Combine::mean;
};

const FieldTable<Options>& fields() {
  static const auto table =
      FieldTable<Options>("method")
          .integer("r", &Options::r, {1, 256}, "memory slots")
          .real("gain", &Options::gain, {0}, "gain of the basis")
          .boolean("scale", &Options::scale, "scale the scores")
          .text("name", &Options::name, "a name")
          .choice("combine", &Options::combine, {{"mean", Combine::mean}, {"sum", Combine::sum}}, "how to combine");
  return table;
}

std::string error_of(const FieldValues& values) {
  try {
    fields().parse(values);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Fields, DefaultsComeFromTheStruct) {
  const Options options = fields().parse({});
  EXPECT_EQ(options.r, 64);
  ASSERT_EQ(fields().infos().size(), 5u);
  EXPECT_EQ(fields().infos()[0].default_value, FieldValue(int64_t{64}));
  EXPECT_EQ(fields().infos()[4].default_value, FieldValue("mean"));
  EXPECT_EQ(fields().infos()[4].choices, (std::vector<std::string>{"mean", "sum"}));
}

TEST(Fields, ValuesAndTextOfTheCommandLine) {
  const FieldValues typed = {{"r", int64_t{8}}, {"gain", 0.5}, {"scale", true}, {"name", "12"}, {"combine", "sum"}};
  const FieldValues text = {{"r", "8"}, {"gain", "0.5"}, {"scale", "true"}, {"name", "12"}, {"combine", "sum"}};
  for (const auto& values : {typed, text}) {
    const Options options = fields().parse(values);
    EXPECT_EQ(options.r, 8);
    EXPECT_EQ(options.gain, 0.5);
    EXPECT_TRUE(options.scale);
    EXPECT_EQ(options.name, "12");
    EXPECT_EQ(options.combine, Combine::sum);
    EXPECT_EQ(fields().values(options), typed);  // complete, and a round trip
  }
  EXPECT_EQ(fields().parse({{"gain", int64_t{2}}}).gain, 2.0);
  EXPECT_EQ(fields().parse({{"r", std::monostate{}}}).r, 64);
}

TEST(Fields, ApplyChangesOnlyTheNamed) {
  Options options;
  options.r = 7;
  fields().apply(options, {{"gain", 3.0}});
  EXPECT_EQ(options.r, 7);
  EXPECT_EQ(options.gain, 3.0);
}

TEST(Fields, ErrorsAreOneClearLine) {
  EXPECT_EQ(error_of({{"r", int64_t{0}}}), "method: r must be an integer from 1 to 256, got 0");
  EXPECT_EQ(error_of({{"r", "257"}}), "method: r must be an integer from 1 to 256, got 257");
  EXPECT_EQ(error_of({{"r", "8x"}}), "method: r must be an integer from 1 to 256, got 8x");
  EXPECT_EQ(error_of({{"r", 8.5}}), "method: r must be an integer from 1 to 256, got 8.5");
  EXPECT_EQ(error_of({{"r", 1.0}}), "method: r must be an integer from 1 to 256, got 1.0");
  EXPECT_EQ(error_of({{"r", "1.0"}}), "method: r must be an integer from 1 to 256, got 1.0");
  EXPECT_EQ(error_of({{"r", ""}}), "method: r must be an integer from 1 to 256, got ");
  EXPECT_EQ(error_of({{"r", true}}), "method: r must be an integer from 1 to 256, got true");
  EXPECT_EQ(error_of({{"gain", -1.0}}), "method: gain must be a number of at least 0, got -1.0");
  EXPECT_EQ(error_of({{"gain", "nan"}}), "method: gain must be a number of at least 0, got nan");
  EXPECT_EQ(error_of({{"scale", "maybe"}}), "method: scale must be true or false, got maybe");
  EXPECT_EQ(error_of({{"name", int64_t{3}}}), "method: name must be text, got 3");
  EXPECT_EQ(error_of({{"combine", "max"}}), "method: combine must be one of mean, sum, got max");
}

TEST(Fields, LargeIntegersAreComparedAndShownExactly) {
  struct Large {
    int64_t seed = 0, steps = 1, any = 0;
  };
  const auto table = FieldTable<Large>("large")
                         .integer("seed", &Large::seed, {0, 0x1p53}, "up to 2^53")
                         .integer("steps", &Large::steps, {1, 1e12}, "many")
                         .integer("any", &Large::any, {}, "without a bound");
  const auto message_of = [&](const FieldValues& values) -> std::string {
    try {
      table.parse(values);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  constexpr int64_t kLast = int64_t{1} << 53;
  EXPECT_EQ(table.parse({{"seed", kLast}}).seed, kLast);
  // As a double it would be 2^53.
  EXPECT_EQ(message_of({{"seed", kLast + 1}}),
            "large: seed must be an integer from 0 to 9007199254740992, got 9007199254740993");
  EXPECT_EQ(message_of({{"seed", "9007199254740993"}}), message_of({{"seed", kLast + 1}}));
  EXPECT_EQ(message_of({{"steps", "1e12"}}), "large: steps must be an integer from 1 to 1000000000000, got 1e12");
  for (const int64_t extreme : {INT64_MIN, INT64_MAX}) EXPECT_EQ(table.parse({{"any", extreme}}).any, extreme);
}

TEST(Fields, RealNumbersMustBeFinite) {
  for (const char* text : {"inf", "-inf", "nan"})
    EXPECT_EQ(error_of({{"gain", text}}), str_cat("method: gain must be a number of at least 0, got ", text));
}

TEST(Fields, UnknownNameNamesTheNearest) {
  const std::string near = error_of({{"combin", "sum"}});
  EXPECT_NE(near.find("combin"), std::string::npos) << near;
  EXPECT_NE(near.find("combine"), std::string::npos) << near;
  EXPECT_EQ(near.find('\n'), std::string::npos);
  EXPECT_NE(error_of({{"zzzzzz", int64_t{1}}}), "");
}

TEST(Fields, ValidateChecksWhatCppSet) {
  Options options;
  options.r = 1000;
  EXPECT_THROW(fields().validate(options), InputError);
  options.r = 256;
  fields().validate(options);
}

TEST(Fields, AChoiceWithoutANameIsRefused) {
  Options options;
  options.combine = static_cast<Combine>(7);
  const auto message_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const std::string expected = "method: combine must be one of mean, sum, got 7";
  EXPECT_EQ(message_of([&] { fields().validate(options); }), expected);
  EXPECT_EQ(message_of([&] { fields().values(options); }), expected);
}

TEST(Fields, NearestName) {
  EXPECT_EQ(nearest_name("sofmax", {"lavo", "softmax", "local"}), "softmax");
  EXPECT_EQ(nearest_name("locl", {"lavo", "softmax", "local"}), "local");
  EXPECT_EQ(nearest_name("qqqqqqqq", {"lavo", "softmax", "local"}), "");
  EXPECT_EQ(nearest_name("z", {"t", "w", "hops"}), "");
  EXPECT_EQ(nearest_name("ws", {"t", "w", "hops"}), "w");
}

}  // namespace
}  // namespace longspan
