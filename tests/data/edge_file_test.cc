#include "longspan/data/edge_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "longspan/io/safetensors.h"
#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

class EdgeFile : public ScratchFolder {
 protected:
  std::string refusal(const std::string& name, std::optional<int64_t> n = std::nullopt) const {
    return error_of([&] { read_edges(path(name), n); });
  }
  template <class T>
  void rows(const std::string& name, DType dtype, const char* begin_name, const std::vector<T>& begin,
            const char* keys_name, const std::vector<T>& keys) const {
    write_safetensors(path(name), {{begin_name, dtype, {static_cast<int64_t>(begin.size())}, begin.data()},
                                   {keys_name, dtype, {static_cast<int64_t>(keys.size())}, keys.data()}});
  }
};

TEST_F(EdgeFile, Text) {
  put("edges.txt", "0 1\n2 0\n");
  EXPECT_EQ(read_edges(path("edges.txt")).n, 3);
  EXPECT_EQ(read_edges(path("edges.txt"), 7).n, 7);
  EXPECT_EQ(read_edges(put("empty.txt", "")).n, 0);
  put("bad.txt", "0 1\n0 x\n");
  EXPECT_EQ(refusal("bad.txt"), path("bad.txt") + ":2: expected two numbers, a query and a key");
  EXPECT_NE(refusal("missing.txt").find("missing.txt"), std::string::npos);
}

TEST_F(EdgeFile, CompressedRowsUnderEveryName) {
  const std::vector<uint64_t> expected = {1, (uint64_t{2} << 32) | 0};
  rows<int64_t>("a.safetensors", DType::i64, "row_ptr", {0, 1, 1, 2}, "col", {1, 0});
  rows<int32_t>("b.safetensors", DType::i32, "crow_indices", {0, 1, 1, 2}, "col_indices", {1, 0});
  rows<int32_t>("c.safetensors", DType::i32, "indptr", {0, 1, 1, 2}, "indices", {1, 0});
  for (const std::string name : {"a.safetensors", "b.safetensors", "c.safetensors"}) {
    EXPECT_EQ(read_edges(path(name)).pairs, expected);
    EXPECT_EQ(read_edges(path(name), 3).n, 3);
    EXPECT_EQ(refusal(name, 4), path(name) + ": 3 rows, but 4 tokens");
  }
}

TEST_F(EdgeFile, WrongTensors) {
  const std::vector<int64_t> zeros(4, 0);
  const std::vector<float> reals(4, 0);
  write_safetensors(path("names.safetensors"), {{"rows", DType::i64, {4}, zeros.data()}});
  EXPECT_NE(refusal("names.safetensors").find("has no compressed rows: the tensors row_ptr and col"),
            std::string::npos);
  write_safetensors(path("shape.safetensors"),
                    {{"row_ptr", DType::i64, {2, 2}, zeros.data()}, {"col", DType::i64, {0}, zeros.data()}});
  EXPECT_EQ(refusal("shape.safetensors"),
            path("shape.safetensors") + ": tensor 'row_ptr' must have one dimension, got 2");
  write_safetensors(path("scalar.safetensors"),
                    {{"row_ptr", DType::i64, {}, zeros.data()}, {"col", DType::i64, {0}, zeros.data()}});
  EXPECT_EQ(refusal("scalar.safetensors"),
            path("scalar.safetensors") + ": tensor 'row_ptr' must have one dimension, got 0");
  write_safetensors(path("type.safetensors"),
                    {{"row_ptr", DType::i64, {1}, zeros.data()}, {"col", DType::f32, {0}, reals.data()}});
  EXPECT_EQ(refusal("type.safetensors"), path("type.safetensors") + ": tensor 'col' must be I64 or I32, got F32");
  rows<int64_t>("key.safetensors", DType::i64, "row_ptr", {0, 1}, "col", {1});
  EXPECT_EQ(refusal("key.safetensors"),
            path("key.safetensors") + ": row 0, entry 0: the key must be from 0 to 0, got 1");
  put("text.safetensors", "0 1\n");
  EXPECT_NE(refusal("text.safetensors").find("text.safetensors: truncated"), std::string::npos);
}

}  // namespace
}  // namespace longspan
