// The harness must catch what it is for: a small attention of the test's own, healthy or with one deliberate fault.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "longspan/testing/properties/properties.h"

namespace longspan::testing {
namespace {

enum class Fault {
  none,
  sees_next_token,       // prefix
  forgets_single_steps,  // split
  ignores_borders,       // padding
  mixes_batch,           // isolation
  assumes_contiguous,    // layout
  updates_in_place,      // state: copy
  reads_row_index,       // state: reorder
  keeps_memory_outside,  // state: all of it must be in the tensors that a file would hold
  counts_threads,        // threads
};

/// y_t = W mean(x_0 .. x_t): as simple as a causal attention can be.
class MeanAttention : public nn::Attention {
 public:
  explicit MeanAttention(Fault fault) : Attention("mean", nn::Pattern::causal_self, {.width = 8, .heads = 2}), fault_(fault) {
    out_ = register_module("out", torch::nn::Linear(8, 8));
  }

  nn::AttentionProperties properties() const override { return {}; }
  nn::AttentionCost cost(int64_t, int64_t) const override { return {}; }
  FieldValues options() const override { return {}; }
  at::Tensor attend(const at::Tensor&, const at::Tensor&, const at::Tensor& v) override { return means(v, 2); }

 protected:
  at::Tensor forward_packed(const at::Tensor& given, const Packed& packed) override {
    auto x = given;
    if (fault_ == Fault::assumes_contiguous) x = at::from_blob(given.data_ptr(), given.sizes(), given.options()).clone();
    at::Tensor mean;
    if (packed.cu && fault_ != Fault::ignores_borders) {
      std::vector<at::Tensor> parts;
      for (int64_t s = 0; s + 1 < packed.cu->numel(); ++s) {
        const int64_t begin = (*packed.cu)[s].item<int64_t>(), end = (*packed.cu)[s + 1].item<int64_t>();
        parts.push_back(means(x.narrow(1, begin, end - begin), 1));
      }
      mean = at::cat(parts, 1);
    } else {
      mean = means(x, 1);
    }
    if (fault_ == Fault::sees_next_token) mean = mean + 1e-3 * x.roll(-1, 1);
    if (fault_ == Fault::mixes_batch) mean = mean + 1e-3 * x.mean(0, true);
    if (fault_ == Fault::counts_threads) mean = mean * (at::get_num_threads() == 2 ? 1.001 : 1.0);
    return out_->forward(mean);
  }

  nn::State begin_self(int64_t batch) override {
    const auto options = out_->weight.options().requires_grad(false);
    return nn::State({{"sum", at::zeros({batch, 8}, options)}, {"count", at::zeros({batch}, at::kLong)}});
  }
  nn::State begin_cross(const at::Tensor&, const std::optional<at::Tensor>&, int64_t) override { return {}; }

  at::Tensor extend_packed(nn::State& state, const at::Tensor& x, const std::optional<at::Tensor>& cu) override {
    std::vector<at::Tensor> outputs, sums, counts;
    const int64_t batch = state.batch();
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t begin = cu ? (*cu)[b].item<int64_t>() : 0, end = cu ? (*cu)[b + 1].item<int64_t>() : x.size(1);
      const auto rows = (cu ? x[0] : x[b]).narrow(0, begin, end - begin);
      const auto before = state.at("count")[b];
      const auto sum = state.at("sum")[b] + rows.cumsum(0);
      const auto count = (before + at::arange(1, end - begin + 1)).to(x.scalar_type()).unsqueeze(-1);
      outputs.push_back(out_->forward(sum / count));
      sums.push_back(end > begin ? sum[-1] : state.at("sum")[b]);
      const bool forgets = fault_ == Fault::forgets_single_steps && end - begin == 1;
      counts.push_back(forgets ? before : before + (end - begin));
    }
    if (fault_ == Fault::updates_in_place) {
      auto sum = state.at("sum");
      at::NoGradGuard no_grad;
      sum.copy_(at::stack(sums));
    } else {
      state.set("sum", at::stack(sums));
    }
    state.set("count", at::stack(counts));
    if (fault_ == Fault::reads_row_index)
      for (int64_t b = 0; b < batch; ++b) outputs[b] = outputs[b] * (1 + 1e-3 * b);
    if (fault_ == Fault::keeps_memory_outside)
      for (auto& output : outputs) output = output + 1e-3 * calls_;
    ++calls_;
    return cu ? at::cat(outputs).unsqueeze(0) : at::stack(outputs);
  }

 private:
  static at::Tensor means(const at::Tensor& x, int64_t dim) {
    std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
    shape[static_cast<size_t>(dim)] = x.size(dim);
    return x.cumsum(dim) / at::arange(1, x.size(dim) + 1, x.options()).view(shape);
  }

  Fault fault_;
  int calls_ = 0;
  torch::nn::Linear out_{nullptr};
};

Subject subject(Fault fault) {
  return {"mean", [fault] { return std::make_shared<MeanAttention>(fault); }, at::kDouble};
}

TEST(Harness, PassesAHealthyAttention) {
  for (const auto& result : check_properties(subject(Fault::none))) EXPECT_TRUE(result.passed) << result.text();
}

struct Case {
  Fault fault;
  const char* property;
  const char* found;  ///< what the message must say: a subject that merely throws proves nothing
};

class HarnessCatches : public ::testing::TestWithParam<Case> {};

TEST_P(HarnessCatches, TheFault) {
  const auto result = check_property(GetParam().property, subject(GetParam().fault));
  EXPECT_TRUE(result.applicable);
  EXPECT_FALSE(result.passed) << result.text();
  EXPECT_NE(result.detail.find(GetParam().found), std::string::npos) << result.text();
  EXPECT_EQ(result.detail.find("throws"), std::string::npos) << result.text();
}

INSTANTIATE_TEST_SUITE_P(
    Faults, HarnessCatches,
    ::testing::Values(Case{Fault::sees_next_token, "prefix", "another future"},
                      Case{Fault::forgets_single_steps, "split", "token by token"},
                      Case{Fault::ignores_borders, "padding", "left, output"},
                      Case{Fault::mixes_batch, "isolation", "alone and in the batch"},
                      Case{Fault::assumes_contiguous, "layout", "transposed"},
                      Case{Fault::updates_in_place, "state", "the copy's sum"},
                      Case{Fault::reads_row_index, "state", "rows reordered"},
                      Case{Fault::keeps_memory_outside, "state", "going on from the copy"},
                      Case{Fault::counts_threads, "threads", "two threads and one"}),
    [](const auto& info) { return std::string(info.param.property) + std::to_string(info.index); });

TEST(Harness, NamesAnUnknownProperty) {
  try {
    check_property("prefx", subject(Fault::none));
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("unknown property 'prefx'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace longspan::testing
