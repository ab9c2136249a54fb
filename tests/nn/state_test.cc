#include "longspan/nn/state.h"

#include "support.h"

namespace longspan::nn {
namespace {

State sample(int64_t batch, int64_t length, uint64_t seed) {
  return State({{"keys", normal({batch, 2, length, 3}, seed)}, {"count", at::full({batch}, length, at::kLong)}});
}

TEST(State, SelectsRepeatsAndDropsRows) {
  const State state = sample(3, 4, 1), chosen = state.select(at::tensor({2, 0, 2}, at::kLong));
  EXPECT_EQ(chosen.batch(), 3);
  EXPECT_TRUE(chosen.at("keys")[0].equal(state.at("keys")[2]));
  EXPECT_TRUE(chosen.at("keys")[1].equal(state.at("keys")[0]));
  EXPECT_EQ(state.select(at::empty({0}, at::kLong)).batch(), 0);
  expect_input_error([&] { state.select(at::tensor({3}, at::kLong)); }, "state: index must lie from 0 to 2, got 3");
}

TEST(State, StacksCachesOfDifferentLength) {
  const State a = sample(1, 2, 1), b = sample(2, 4, 2), both = State::stack({a, b});
  EXPECT_EQ(both.at("keys").sizes(), (std::vector<int64_t>{3, 2, 4, 3}));
  EXPECT_TRUE(both.at("keys")[0].narrow(1, 0, 2).equal(a.at("keys")[0]));
  EXPECT_TRUE(both.at("keys")[0].narrow(1, 2, 2).eq(0).all().item<bool>());
  EXPECT_TRUE(both.at("keys").narrow(0, 1, 2).equal(b.at("keys")));
  EXPECT_TRUE(both.at("count").equal(at::tensor({2, 4, 4}, at::kLong)));
  expect_input_error(
      [&] {
        State::stack({a, State({{"other", at::zeros({1})}})});
      },
      "state: streams to stack must come from one method, tensor 'count' is not in all of them");
}

TEST(State, ClonesAndCounts) {
  const State state = sample(2, 4, 1), copy = state.clone();
  copy.at("keys").zero_();
  EXPECT_TRUE(state.at("keys").ne(0).all().item<bool>());
  EXPECT_EQ(state.bytes(), 2 * 2 * 4 * 3 * 8 + 2 * 8);
  EXPECT_EQ(State().batch(), 0);
  EXPECT_THROW(state.at("values"), InternalError);
}

}  // namespace
}  // namespace longspan::nn
