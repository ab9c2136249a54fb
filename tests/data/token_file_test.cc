#include "longspan/data/token_file.h"

#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

using TokenFileTest = ScratchFolder;

TEST(TokenType, NarrowestThatHolds) {
  EXPECT_EQ(token_type_for(1), TokenType::u8);
  EXPECT_EQ(token_type_for(256), TokenType::u8);
  EXPECT_EQ(token_type_for(257), TokenType::u16);
  EXPECT_EQ(token_type_for(65536), TokenType::u16);
  EXPECT_EQ(token_type_for(65537), TokenType::u32);
  EXPECT_THROW(token_type_for(0), InputError);
  EXPECT_THROW(token_type_for((int64_t{1} << 32) + 1), InputError);
}

TEST_F(TokenFileTest, EveryWidth) {
  struct Case {
    TokenType type;
    std::string bytes;
    std::vector<int64_t> tokens;
  };
  const Case cases[] = {
      {TokenType::u8, std::string("\x00\xff\x07", 3), {0, 255, 7}},
      {TokenType::u16, std::string("\x00\x01\xff\xff\x07\x00", 6), {256, 65535, 7}},
      {TokenType::u32, std::string("\x01\x00\x01\x00\xff\xff\xff\xff\x07\x00\x00\x00", 12), {65537, 4294967295, 7}},
  };
  for (const auto& c : cases) {
    const TokenFile file(put("t.bin", c.bytes), c.type, int64_t{1} << 32);
    ASSERT_EQ(file.size(), 3);
    for (int64_t begin = 0; begin <= 3; ++begin)
      for (int64_t count = 0; begin + count <= 3; ++count) {
        std::vector<int64_t> out(4, -1);
        file.copy_to(out.data(), begin, count);
        for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(out[i], i < count ? c.tokens[begin + i] : -1);
      }
  }
}

TEST_F(TokenFileTest, Refusals) {
  const std::string name = put("t.bin", "abc");
  EXPECT_EQ(error_of([&] { TokenFile file(name, TokenType::u16, 1000); }),
            name + ": 3 bytes are not a whole number of uint16 tokens");
  const TokenFile file(name, TokenType::u8, 'c');  // so that 'c' is outside
  int64_t out[4];
  EXPECT_EQ(error_of([&] { file.copy_to(out, 0, 3); }), name + ": token 2 is 99, outside the vocabulary of 99");
  EXPECT_EQ(error_of([&] { file.copy_to(out, 1, 3); }), name + ": 3 tokens from 1 on are asked for, it holds 3");
  EXPECT_EQ(error_of([&] { file.copy_to(out, 3, 1); }), name + ": 1 tokens from 3 on are asked for, it holds 3");
  EXPECT_EQ(error_of([&] { file.copy_to(out, -1, 1); }), name + ": 1 tokens from -1 on are asked for, it holds 3");
  EXPECT_NE(error_of([&] { file.copy_to(out, 2, INT64_MAX); }), "");
  EXPECT_EQ(TokenFile(put("e.bin", ""), TokenType::u8, 256).size(), 0);
}

}  // namespace
}  // namespace longspan
