#include "longspan/io/safetensors.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

using SafetensorsTest = ScratchFolder;

/// The bytes of a file with this header and data; `length` overrides the header length that it claims.
std::string file_bytes(std::string_view header, std::string_view data = "", int64_t length = -1) {
  const uint64_t size = length >= 0 ? static_cast<uint64_t>(length) : header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &size, 8);
  return out + std::string(header) + std::string(data);
}

class Hostile : public ScratchFolder {
 protected:
  /// The message for a file of these bytes, without the path.
  std::string refusal(const std::string& bytes) {
    const std::string name = put("m.safetensors", bytes);
    const std::string text = error_of([&] { SafetensorsFile file(name); });
    EXPECT_TRUE(text.starts_with(name + ": ")) << "'" << text << "'";
    return text.size() > name.size() + 2 ? text.substr(name.size() + 2) : text;
  }
  std::string header_refusal(std::string_view header, std::string_view data = "") {
    return refusal(file_bytes(header, data));
  }
};

TEST_F(SafetensorsTest, RoundTrip) {
  const std::vector<float> f = {1.5f, -0.0f, std::numeric_limits<float>::infinity(), std::nanf("7"), 1e-45f, 6};
  const std::vector<double> d = {0.1};
  const std::vector<int64_t> i = {std::numeric_limits<int64_t>::min(), 3};
  const std::vector<uint8_t> u = {0, 1, 255};
  const std::string name = path("m.safetensors");
  write_safetensors(name,
                    {{"u", DType::u8, {3}, u.data()},
                     {"f", DType::f32, {2, 3}, f.data()},
                     {"scalar", DType::f64, {}, d.data()},
                     {"none", DType::bf16, {0, 5}, nullptr},
                     {"i", DType::i64, {2, 1}, i.data()}},
                    {{"format", "pt"}, {"note", "é \"quoted\""}});
  EXPECT_EQ(names(), std::vector<std::string>{"m.safetensors"});

  const SafetensorsFile file(name);
  EXPECT_EQ(file.tensors().size(), 5u);
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"format", "pt"}, {"note", "é \"quoted\""}}));
  EXPECT_EQ(file.at("f").dtype, DType::f32);
  EXPECT_EQ(file.at("f").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(file.at("f").elements(), 6);
  EXPECT_EQ(file.at("scalar").elements(), 1);
  EXPECT_TRUE(file.at("scalar").shape.empty());
  EXPECT_EQ(file.at("none").elements(), 0);
  std::vector<float> f2(6);
  file.copy_to("f", f2.data());
  EXPECT_EQ(std::memcmp(f2.data(), f.data(), 24), 0);  // bits: NaN and -0 too
  std::vector<int64_t> i2(2);
  file.copy_to("i", i2.data());
  EXPECT_EQ(i2, i);
  file.copy_to("none", nullptr);
  for (const auto& [tensor, info] : file.tensors())
    EXPECT_EQ(reinterpret_cast<uintptr_t>(info.bytes.data()) % static_cast<uintptr_t>(size_of(info.dtype)), 0u)
        << tensor;

  EXPECT_EQ(error_of([&] { file.at("g"); }), name + ": has no tensor 'g'");
}

// The exact bytes, so that the format does not drift: wider elements first, then names, header padded to 8.
TEST_F(SafetensorsTest, Bytes) {
  const uint8_t bytes[3] = {7, 8, 9};
  const float value = 1.0f;
  write_safetensors(path("m"),
                    {{"b", DType::u8, {1}, bytes + 2}, {"a", DType::u8, {2}, bytes}, {"z", DType::f32, {1}, &value}});
  std::string header =
      R"({"z":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},)"
      R"("b":{"dtype":"U8","shape":[1],"data_offsets":[6,7]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(get("m"), file_bytes(header, std::string("\x00\x00\x80\x3f\x07\x08\x09", 7)));
}

TEST_F(SafetensorsTest, EmptyFileOfNoTensors) {
  write_safetensors(path("m"), {});
  EXPECT_TRUE(SafetensorsFile(path("m")).tensors().empty());
}

TEST_F(SafetensorsTest, EveryDType) {
  const char* known[] = {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL"};
  const int64_t sizes[] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1};
  for (int i = 0; i < 10; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(name_of(dtype), known[i]);
    EXPECT_EQ(size_of(dtype), sizes[i]);
    const std::string header =
        str_cat(R"({"x":{"dtype":")", known[i], R"(","shape":[1],"data_offsets":[0,)", sizes[i], "]}}");
    put("m", file_bytes(header, std::string(sizes[i], 'x')));
    EXPECT_EQ(SafetensorsFile(path("m")).at("x").dtype, dtype);
  }
}

// Foreign files: other order of the keys, no padding, so that the data are not aligned.
TEST_F(SafetensorsTest, ForeignLayout) {
  put("m", file_bytes(R"({"b":{"data_offsets":[1,5],"shape":[1],"dtype":"F32"},)"
                      R"("a":{"shape":[],"dtype":"U8","data_offsets":[0,1]}} )",
                      std::string("\x05\x00\x00\x80\x3f", 5)));
  const SafetensorsFile file(path("m"));
  float value = 0;
  file.copy_to("b", &value);
  EXPECT_EQ(value, 1.0f);
  EXPECT_EQ(std::to_integer<int>(file.at("a").bytes[0]), 5);
}

TEST_F(SafetensorsTest, MovedFileStaysValid) {
  const int32_t value = 42;
  write_safetensors(path("m"), {{"x", DType::i32, {1}, &value}});
  SafetensorsFile first(path("m"));
  const SafetensorsFile second(std::move(first));
  int32_t read = 0;
  second.copy_to("x", &read);
  EXPECT_EQ(read, 42);
}

TEST_F(SafetensorsTest, WriterRefuses) {
  const float x[2] = {};
  EXPECT_EQ(error_of([&] {
              write_safetensors(path("m"), {{"a", DType::f32, {1}, x}, {"a", DType::u8, {1}, x}});
            }),
            path("m") + ": two tensors have the name 'a'");
  EXPECT_EQ(error_of([&] {
              write_safetensors(path("m"), {{"", DType::f32, {1}, x}});
            }),
            path("m") + ": '' cannot be the name of a tensor");
  EXPECT_EQ(error_of([&] {
              write_safetensors(path("m"), {{"__metadata__", DType::f32, {1}, x}});
            }),
            path("m") + ": '__metadata__' cannot be the name of a tensor");
  EXPECT_EQ(error_of([&] {
              write_safetensors(path("m"), {{"a", DType::f32, {-1}, x}});
            }),
            path("m") + ": tensor 'a' has a negative dimension: [-1]");
  EXPECT_EQ(error_of([&] {
              write_safetensors(path("m"), {{"\xff", DType::f32, {1}, x}});
            }),
            path("m") + ": a name or a metadata text is not valid UTF-8");
  EXPECT_TRUE(names().empty());
}

TEST_F(Hostile, Truncated) {
  EXPECT_EQ(refusal(""), "truncated: 0 bytes, too short for a safetensors file");
  EXPECT_EQ(refusal("1234567"), "truncated: 7 bytes, too short for a safetensors file");
  EXPECT_EQ(refusal(file_bytes("{}", "", int64_t{1} << 60)),
            "truncated or not a safetensors file: a header of 1152921504606846976 bytes in a file of 10");
  EXPECT_EQ(refusal(std::string(8, '\xff')),
            "truncated or not a safetensors file: a header of 18446744073709551615 bytes in a file of 8");
  EXPECT_EQ(header_refusal(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "1234567"),
            "tensor 'x' has data_offsets [0, 8] out of the file, which holds 7 bytes of data");
}

// Every prefix of a good file is refused.
TEST_F(Hostile, EveryPrefix) {
  const float x[3] = {1, 2, 3};
  write_safetensors(path("good"), {{"x", DType::f32, {3}, x}}, {{"k", "v"}});
  const std::string good = get("good");
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_NE(refusal(good.substr(0, size)), "") << size;
  EXPECT_EQ(refusal(good + "!"), "bytes 12 to 13 of the data belong to no tensor");
}

// Any damaged byte is either refused in one line or leaves a file whose tensors lie inside it.
TEST_F(Hostile, EveryByteChanged) {
  const float x[2] = {1, 2};
  write_safetensors(path("good"), {{"x", DType::f32, {2}, x}}, {{"k", "v"}});
  const std::string good = get("good");
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char value : {'\0', '0', '9', '"', '}', '\xff', static_cast<char>(good[i] ^ 1)}) {
      std::string bytes = good;
      bytes[i] = value;
      const std::string name = put("m.safetensors", bytes);
      error_of([&] {
        const SafetensorsFile file(name);
        for (const auto& [tensor, info] : file.tensors()) {
          std::vector<std::byte> copy(info.bytes.size());
          file.copy_to(tensor, copy.data());
          EXPECT_LE(copy.size(), bytes.size());
        }
      });
    }
  }
}

TEST_F(Hostile, HeaderIsNoJsonObject) {
  EXPECT_TRUE(header_refusal("{").starts_with("header:1:")) << header_refusal("{");
  EXPECT_TRUE(header_refusal("").starts_with("header:1:")) << header_refusal("");
  EXPECT_TRUE(header_refusal("PK\x03\x04").starts_with("header:1:1: "));
  EXPECT_TRUE(header_refusal("{\"\xff\":1}").starts_with("header:1:"));
  EXPECT_EQ(header_refusal(std::string(100000, '[')), "header:1:65: nested deeper than 64");
  EXPECT_EQ(header_refusal("[]"), "the header is not an object but array");
  EXPECT_EQ(header_refusal("3"), "the header is not an object but number");
  EXPECT_EQ(header_refusal(R"({"x":3})"), "tensor 'x' is not described by an object");
  EXPECT_EQ(header_refusal(R"({"__metadata__":[]})"), "__metadata__ is not an object");
  EXPECT_EQ(header_refusal(R"({"__metadata__":{"a":1}})"), "__metadata__: a is not text");
  EXPECT_TRUE(header_refusal(R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                             R"("x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                             "1")
                  .ends_with("the key 'x' stands twice in one object"));
}

TEST_F(Hostile, DType) {
  EXPECT_EQ(header_refusal(R"({"x":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "1"),
            "tensor 'x' has the dtype 'F8_E4M3', expected one of F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL");
  EXPECT_EQ(header_refusal(R"({"x":{"dtype":7,"shape":[1],"data_offsets":[0,1]}})", "1"),
            "tensor 'x' has a dtype that is not text");
  EXPECT_EQ(header_refusal(R"({"x":{"shape":[1],"data_offsets":[0,1]}})", "1"), "tensor 'x' has no dtype");
}

TEST_F(Hostile, Shape) {
  const auto with_shape = [&](const std::string& shape, const std::string& range = "[0,0]") {
    return header_refusal(R"({"x":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + range + "}}");
  };
  EXPECT_EQ(with_shape("[-1]"), "tensor 'x' has a negative dimension: [-1]");
  EXPECT_EQ(with_shape("[-2, -2]"), "tensor 'x' has a negative dimension: [-2, -2]");
  EXPECT_EQ(with_shape("[4294967296, 4294967296]"),
            "tensor 'x' has a shape that is too large: [4294967296, 4294967296]");
  EXPECT_EQ(with_shape("[9223372036854775807]"), "tensor 'x' has a shape that is too large: [9223372036854775807]");
  EXPECT_EQ(with_shape("[18446744073709551615]"),
            "tensor 'x' has a shape that is too large: dimension 18446744073709551615");
  EXPECT_EQ(with_shape("[1.0]"), "tensor 'x' has a shape with an entry that is not an integer");
  EXPECT_EQ(with_shape("[\"1\"]"), "tensor 'x' has a shape with an entry that is not an integer");
  EXPECT_EQ(with_shape("1"), "tensor 'x' has a shape that is not an array");
  EXPECT_EQ(with_shape("[1]"), "tensor 'x' has 0 bytes of data, but F32 [1] takes 4");
  EXPECT_EQ(header_refusal(R"({"x":{"dtype":"F32","data_offsets":[0,0]}})"), "tensor 'x' has no shape");
}

TEST_F(Hostile, Ranges) {
  const auto with_range = [&](const std::string& range) {
    return header_refusal(R"({"x":{"dtype":"U8","shape":[4],"data_offsets":)" + range + "}}", "1234");
  };
  EXPECT_EQ(with_range("[0,5]"), "tensor 'x' has data_offsets [0, 5] out of the file, which holds 4 bytes of data");
  EXPECT_EQ(with_range("[4,0]"), "tensor 'x' has data_offsets in the wrong order: [4, 0]");
  EXPECT_EQ(with_range("[0,3]"), "tensor 'x' has 3 bytes of data, but U8 [4] takes 4");
  EXPECT_EQ(
      with_range("[18446744073709551612,18446744073709551615]"),
      "tensor 'x' has data_offsets [18446744073709551612, 18446744073709551615] out of the file, which holds 4 bytes "
      "of data");
  for (const char* range : {"[-4,0]", "[0,4.0]", "[0]", "[0,4,8]", "{}", "null"})
    EXPECT_EQ(with_range(range), "tensor 'x' has data_offsets that are not two integers of at least 0") << range;
  EXPECT_EQ(header_refusal(R"({"x":{"dtype":"U8","shape":[4]}})", "1234"), "tensor 'x' has no data_offsets");
}

TEST_F(Hostile, OverlapsAndHoles) {
  const auto two = [&](const std::string& a, int a_size, const std::string& b, int b_size) {
    return header_refusal(str_cat(R"({"a":{"dtype":"U8","shape":[)", a_size, R"(],"data_offsets":)", a,
                                  R"(},"b":{"dtype":"U8","shape":[)", b_size, R"(],"data_offsets":)", b, "}}"),
                          "12345678");
  };
  EXPECT_EQ(two("[0,5]", 5, "[4,8]", 4), "the data of tensors 'a' and 'b' overlap");
  EXPECT_EQ(two("[0,8]", 8, "[0,8]", 8), "the data of tensors 'a' and 'b' overlap");
  EXPECT_EQ(two("[0,8]", 8, "[2,4]", 2), "the data of tensors 'a' and 'b' overlap");
  EXPECT_EQ(two("[0,8]", 8, "[3,3]", 0), "the data of tensors 'a' and 'b' overlap");
  EXPECT_EQ(two("[0,3]", 3, "[4,8]", 4), "bytes 3 to 4 of the data belong to no tensor");
  EXPECT_EQ(two("[1,4]", 3, "[4,8]", 4), "bytes 0 to 1 of the data belong to no tensor");
  EXPECT_EQ(two("[0,3]", 3, "[3,7]", 4), "bytes 7 to 8 of the data belong to no tensor");
  EXPECT_EQ(header_refusal("{}", "1"), "bytes 0 to 1 of the data belong to no tensor");
}

}  // namespace
}  // namespace longspan
