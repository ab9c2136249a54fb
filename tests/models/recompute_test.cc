#include "longspan/models/recompute.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>

#include "tests/models/small_models.h"

namespace longspan::models {
namespace {

struct Case {
  const char* attention;
  Shape shape;
  bool bfloat16;
};

class Recompute : public ::testing::TestWithParam<Case> {
 protected:
  /// A float32 model in training mode, with every dropout there is.
  std::shared_ptr<LanguageModel> model() const {
    ModelConfig config = small_config(GetParam().attention, GetParam().shape);
    config.dropout = 0.3;
    if (config.attention == "lavo") {
      config.attention_options["dropout"] = 0.2;
      config.attention_options["slot_dropout"] = 0.2;
    }
    torch::manual_seed(5);
    return std::make_shared<LanguageModel>(config);
  }

  struct Run {
    std::vector<at::Tensor> values, gradients;
    double next_draw;
  };

  /// Values and gradients of `loss`, and what torch's generator gives next.
  Run run(bool recompute, const std::function<std::vector<at::Tensor>(LanguageModel&)>& losses) const {
    const auto made = model();
    made->recompute_blocks(recompute);
    torch::manual_seed(77);
    Run out;
    {
      Autocast autocast(GetParam().bfloat16);
      out.values = losses(*made);
    }
    std::vector<at::Tensor> roots, ones;
    for (const at::Tensor& value : out.values) {
      roots.push_back(value);
      ones.push_back(torch::ones_like(value));
    }
    torch::rand({3});  // the second pass must not see where the generator stands now
    torch::autograd::backward(roots, ones);
    out.next_draw = torch::rand({1}).item<double>();
    for (const auto& item : made->named_parameters()) {
      EXPECT_TRUE(item.value().grad().defined()) << item.key();
      out.gradients.push_back(item.value().grad());
    }
    return out;
  }

  void expect_equal(const std::function<std::vector<at::Tensor>(LanguageModel&)>& losses) const {
    const Run kept = run(false, losses), again = run(true, losses);
    ASSERT_EQ(kept.values.size(), again.values.size());
    for (std::size_t i = 0; i < kept.values.size(); ++i) EXPECT_TRUE(kept.values[i].equal(again.values[i])) << i;
    for (std::size_t i = 0; i < kept.gradients.size(); ++i)
      EXPECT_TRUE(kept.gradients[i].equal(again.gradients[i])) << i;
    EXPECT_EQ(kept.next_draw, again.next_draw) << "the generator is left as it was";
  }

  /// torch's autocast to bfloat16, as train::AutocastGuard sets it.
  class Autocast {
   public:
    explicit Autocast(bool on) : on_(on) {
      if (!on_) return;
      at::autocast::increment_nesting();
      at::autocast::set_autocast_enabled(at::kCPU, true);
      at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    }
    ~Autocast() {
      if (!on_) return;
      if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
      at::autocast::set_autocast_enabled(at::kCPU, false);
    }

   private:
    bool on_;
  };
};

TEST_P(Recompute, ABatchGivesTheSameBits) {
  expect_equal([](LanguageModel& model) { return std::vector<at::Tensor>{model.nll(random_tokens(2, 13))}; });
}

TEST_P(Recompute, PackedSequencesGiveTheSameBits) {
  expect_equal([](LanguageModel& model) {
    const at::Tensor tokens = random_tokens(1, 14);
    TokenInputs inputs;
    inputs.cu_seqlens = torch::tensor({0, 3, 3, 9, 13}, torch::kLong);
    inputs.dropout = DropoutKey{4, 100};
    return std::vector<at::Tensor>{model.nll(model.hidden(tokens.narrow(1, 0, 13), inputs), tokens.narrow(1, 1, 13))};
  });
}

// The gradient of the second piece's loss reaches the first piece through the state.
TEST_P(Recompute, ACarriedStateGivesTheSameBits) {
  expect_equal([](LanguageModel& model) {
    const at::Tensor tokens = random_tokens(2, 14);
    ModelState state = model.begin(2);
    std::vector<at::Tensor> losses;
    for (const auto& [begin, size] : {std::pair<int64_t, int64_t>{0, 6}, {6, 7}})
      losses.push_back(
          model.nll(model.extend(state, tokens.narrow(1, begin, size)), tokens.narrow(1, begin + 1, size)));
    return losses;
  });
}

// A scope around forward and backward keeps casts of the weights in its cache; the second pass must make its own.
TEST_P(Recompute, BackwardInsideTheAutocastScopeFindsEveryGradient) {
  const auto made = model();
  made->recompute_blocks(true);
  const Autocast autocast(GetParam().bfloat16);
  made->nll(random_tokens(2, 13)).sum().backward();
  for (const auto& item : made->named_parameters()) EXPECT_TRUE(item.value().grad().defined()) << item.key();
}

INSTANTIATE_TEST_SUITE_P(All, Recompute,
                         ::testing::Values(Case{"lavo", Shape::gpt2, false}, Case{"lavo", Shape::gpt2, true},
                                           Case{"local", Shape::llama, true}, Case{"softmax", Shape::llama, false},
                                           Case{"softmax", Shape::gpt2, true}),
                         [](const auto& info) {
                           return std::string(info.param.attention) +
                                  (info.param.shape == Shape::gpt2 ? "_gpt2" : "_llama") +
                                  (info.param.bfloat16 ? "_bfloat16" : "");
                         });

/// Bytes that the graph behind `build` keeps once the forward pass is over, by the tensors that were made in it.
TEST(RecomputeKeeps, OnlyTheInputsOfABlock) {
  // The body makes tensors of its own; what is alive after the forward pass is counted by weak pointers.
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> made;
  const auto body = [&](const std::vector<at::Tensor>& in) {
    at::Tensor x = in[0];
    for (int i = 0; i < 4; ++i) {
      x = x.exp();  // its result is kept for the backward pass
      made.emplace_back(x.storage().getWeakStorageImpl());
    }
    return std::vector<at::Tensor>{x.sum()};
  };
  const auto alive = [&] {
    int64_t count = 0;
    for (const auto& storage : made) count += storage.expired() ? 0 : 1;
    return count;
  };
  const at::Tensor x = torch::zeros({5}).requires_grad_();
  const at::Tensor plain = body({x}).front();
  EXPECT_EQ(alive(), 4);
  made.clear();
  const at::Tensor again = recomputed(body, {x}, {}).front();
  EXPECT_EQ(alive(), 0);
  EXPECT_TRUE(torch::autograd::grad({plain}, {x})[0].equal(torch::autograd::grad({again}, {x})[0]));
  EXPECT_EQ(made.size(), 8u) << "the backward pass ran the body once more";
  EXPECT_EQ(alive(), 0);
}

TEST(RecomputeKeeps, WithoutAGradientTheBodyRunsOnce) {
  int calls = 0;
  const auto body = [&](const std::vector<at::Tensor>& in) {
    ++calls;
    return std::vector<at::Tensor>{in[0] * 2};
  };
  EXPECT_FALSE(recomputed(body, {torch::ones({2})}, {}).front().requires_grad());
  const torch::NoGradGuard no_grad;
  EXPECT_FALSE(recomputed(body, {torch::ones({2}).requires_grad_()}, {}).front().requires_grad());
  EXPECT_EQ(calls, 2);
}

// What changed between the two passes would give a wrong gradient: torch refuses it.
TEST(RecomputeKeeps, AChangedParameterIsAnError) {
  const at::Tensor x = torch::ones({2}).requires_grad_(), weight = torch::ones({2}).requires_grad_();
  const at::Tensor y =
      recomputed([&](const auto& in) { return std::vector<at::Tensor>{in[0] * weight}; }, {x}, {weight}).front();
  {
    const torch::NoGradGuard no_grad;
    weight.mul_(2);
  }
  EXPECT_THROW(y.sum().backward(), c10::Error);
}

}  // namespace
}  // namespace longspan::models
