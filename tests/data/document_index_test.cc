#include "longspan/data/document_index.h"

#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

class DocumentIndexTest : public ScratchFolder {
 protected:
  std::string borders(const std::vector<uint64_t>& values) {
    return put("d.bin", std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(uint64_t)));
  }
  std::string refusal(const std::vector<uint64_t>& values, int64_t tokens) {
    return error_of([&] { DocumentIndex index(borders(values), tokens); });
  }
};

TEST_F(DocumentIndexTest, EveryTokenHasItsDocument) {
  const std::vector<int64_t> begins = {0, 1, 5, 6, 900, 901};
  const DocumentIndex index(borders({begins.begin(), begins.end()}), 1000);
  ASSERT_EQ(index.size(), 6);
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(index.begin(i), begins[i]);
    EXPECT_EQ(index.end(i), i < 5 ? begins[i + 1] : 1000);
    for (int64_t token = index.begin(i); token < index.end(i); ++token) EXPECT_EQ(index.find(token), i);
  }
  EXPECT_EQ(DocumentIndex(borders({0}), 1).find(0), 0);
}

TEST_F(DocumentIndexTest, Refusals) {
  const std::string name = path("d.bin");
  EXPECT_EQ(refusal({}, 5), name + ": 0 bytes are not a list of uint64");
  EXPECT_EQ(refusal({1}, 5), name + ": the first document must begin at token 0, got 1");
  EXPECT_EQ(refusal({0, 1, 2}, 2), name + ": holds 3 documents of only 2 tokens");
  EXPECT_EQ(refusal({0, 5}, 5), name + ": document 1 goes from token 5 to 5, which cannot be with 5 tokens");
  EXPECT_NE(refusal({0, uint64_t{1} << 63}, 5), "");
  put("d.bin", std::string(9, '\0'));
  EXPECT_EQ(error_of([&] { DocumentIndex index(name, 5); }), name + ": 9 bytes are not a list of uint64");
  EXPECT_EQ(error_of([&] { DocumentIndex index(path("none"), 5); }),
            path("none") + ": cannot be opened: No such file or directory");
}

TEST_F(DocumentIndexTest, DamageIsFoundWhereItIsRead) {
  const DocumentIndex index(borders({0, 7, 3, uint64_t{1} << 40, 8}), 10);
  EXPECT_EQ(index.end(0), 7);
  EXPECT_NE(error_of([&] { index.begin(1); }), "");
  EXPECT_NE(error_of([&] { index.end(2); }), "");
  EXPECT_EQ(error_of([&] { index.begin(3); }),
            path("d.bin") + ": document 3 goes from token 1099511627776 to 8, which cannot be with 10 tokens");
  EXPECT_EQ(error_of([&] { index.begin(5); }), path("d.bin") + ": document 5 is asked for, it holds 5");
  EXPECT_EQ(error_of([&] { index.end(-1); }), path("d.bin") + ": document -1 is asked for, it holds 5");
  EXPECT_EQ(error_of([&] { index.find(10); }), path("d.bin") + ": token 10 is asked for, the split has 10");
  EXPECT_EQ(error_of([&] { index.find(-1); }), path("d.bin") + ": token -1 is asked for, the split has 10");
  for (int64_t token = 0; token < 10; ++token) error_of([&] { index.find(token); });  // ends, whatever it says
}

}  // namespace
}  // namespace longspan
