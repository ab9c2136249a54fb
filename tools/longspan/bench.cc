// longspan bench: time per token of an attention, its peer taking turns in the same run.
#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "command.h"
#include "longspan/base/check.h"
#include "longspan/nn/registry.h"
#include "longspan/report/format.h"
#include "longspan/simd/target.h"
#include "operator_run.h"
#include "output.h"
#include "progress.h"
#include "settings.h"
#include "timing.h"

namespace longspan::tool {

namespace {

struct BenchFlags {
  std::string attentions = "lavo", against, pattern = "causal_self", passes = "forward_backward",
              lengths = "1024,4096,16384";
  int64_t batch = 1, heads = 8, head_dim = 64, peer_max_length = 0;
  std::vector<std::string> set, set_against;
  double min_seconds = 0.3;
  int min_repeats = 3;
  bool layer = false;
};

struct Row {
  std::string attention, pass;
  int64_t length = 0;
  Timing own;
  std::optional<Timing> peer;
  double operations = 0, state_bytes = 0;
};

class Bench {
 public:
  Bench(const BenchFlags& options, const CommonOptions& common)
      : options_(options),
        common_(common),
        dtype_name_(common.dtype.value_or("float32")),
        dtype_(dtype_from_string(dtype_name_)) {}

  void run() {
    LONGSPAN_CHECK(std::isfinite(options_.min_seconds) && options_.min_seconds >= 0,
                   "--min-seconds: expected a number of at least 0, got ", options_.min_seconds);
    const auto names = parse_names("--attention", options_.attentions);
    const auto lengths = parse_lengths("--lengths", options_.lengths);
    std::vector<Pass> passes;
    for (const auto& pass : parse_names("--pass", options_.passes)) passes.push_back(pass_from_string(pass));
    for (const auto& name : names)
      make(name, options_.set);  // every name and option is refused before anything is measured
    if (!options_.against.empty()) make(options_.against, options_.set_against);

    rate_ = matmul_gflops(dtype_);
    ProgressLine progress("bench", static_cast<int64_t>(names.size() * lengths.size() * passes.size()), common_.quiet);
    int64_t done = 0;
    for (const auto& name : names)
      for (const int64_t length : lengths)
        for (const Pass pass : passes) {
          const Row row = measure(name, length, pass);
          if (done == 0 && !common_.json) print_text(header());  // not before something was measured
          print(row);
          progress.update(++done);
        }
  }

 private:
  nn::AttentionPtr make(const std::string& name, const std::vector<std::string>& settings) const {
    nn::AttentionSizes sizes;
    sizes.width = options_.heads * options_.head_dim;
    sizes.heads = options_.heads;
    return nn::make_attention(name, nn::pattern_from_string(options_.pattern), sizes, parse_settings(settings));
  }

  Row measure(const std::string& name, int64_t length, Pass pass) const {
    const OperatorShape shape{options_.batch, options_.heads, length, options_.head_dim, dtype_, options_.layer};
    const uint64_t seed = common_.seed.value_or(0);
    const nn::AttentionPtr attention = make(name, options_.set);
    OperatorRun run(attention, shape, pass, seed);
    const bool with_peer =
        !options_.against.empty() && (options_.peer_max_length == 0 || length <= options_.peer_max_length);
    std::unique_ptr<OperatorRun> peer;
    if (with_peer)
      peer = std::make_unique<OperatorRun>(make(options_.against, options_.set_against), shape, pass, seed);

    TimingPlan plan;
    plan.minimum_seconds = options_.min_seconds;
    plan.minimum_repeats = options_.min_repeats;
    Row row;
    row.attention = name;
    row.pass = to_string(pass);
    row.length = length;
    std::vector<std::function<void()>> turns = {[&] { run(); }};
    if (peer) turns.push_back([&] { (*peer)(); });
    const auto timings = time_alternating(turns, plan);
    row.own = timings[0];
    if (peer) row.peer = timings[1];
    row.operations = operations(*attention, shape, pass);
    row.state_bytes = attention->cost(length, length).state_bytes;
    return row;
  }

  double per_token(double seconds, int64_t length) const {
    return 1e6 * seconds / static_cast<double>(options_.batch * length);
  }

  void print(const Row& row) const {
    const double own = per_token(row.own.seconds, row.length);
    const double gflops = 1e-9 * row.operations / row.own.seconds;
    const auto& peer = row.peer;
    if (!common_.json) {
      std::string line = report::pad_right(row.attention, 12) + report::pad_right(row.pass, 18) +
                         report::pad_left(std::to_string(row.length), 9) +
                         report::pad_left(report::significant(own, 4), 12) +
                         report::pad_left(report::significant(gflops, 3), 10) +
                         report::pad_left(report::fixed(100 * gflops / rate_, 0) + "%", 7);
      if (peer)
        line += report::pad_left(report::significant(per_token(peer->seconds, row.length), 4), 12) +
                report::pad_left(report::fixed(peer->seconds / row.own.seconds, 2) + "x", 10);
      print_text(line + "\n");
      return;
    }
    Json json;
    json["attention"] = row.attention;
    json["against"] = peer ? Json(options_.against) : Json();
    json["pattern"] = options_.pattern;
    json["pass"] = row.pass;
    json["n"] = row.length;
    json["batch"] = options_.batch;
    json["heads"] = options_.heads;
    json["head_dim"] = options_.head_dim;
    json["dtype"] = dtype_name_;
    json["threads"] = at::get_num_threads();
    json["layer"] = options_.layer;
    json["us_per_token"] = own;
    json["us_per_token_against"] = peer ? Json(per_token(peer->seconds, row.length)) : Json();
    json["speedup"] = peer ? Json(peer->seconds / row.own.seconds) : Json();
    json["gflops"] = gflops;
    json["matmul_gflops"] = rate_;
    json["state_bytes"] = static_cast<int64_t>(row.state_bytes);
    json["spread"] = row.own.spread;
    json["spread_against"] = peer ? Json(peer->spread) : Json();
    json["repeats"] = row.own.repeats;
    json["simd"] = simd::active_target();
    print_json(json);
  }

  std::string header() const {
    std::string text =
        str_cat(options_.pattern, ", batch ", options_.batch, ", ", options_.heads, " heads of ", options_.head_dim,
                ", ", dtype_name_, ", ", at::get_num_threads(), " threads, ", simd::active_target(),
                "; matrix product: ", report::significant(rate_, 3), " GFLOP/s\n", report::pad_right("attention", 12),
                report::pad_right("pass", 18), report::pad_left("n", 9), report::pad_left("us/token", 12),
                report::pad_left("GFLOP/s", 10), report::pad_left("of mm", 7));
    if (!options_.against.empty()) text += report::pad_left(options_.against, 12) + report::pad_left("speedup", 10);
    return text + "\n";
  }

  const BenchFlags& options_;
  const CommonOptions& common_;
  std::string dtype_name_;
  at::ScalarType dtype_;
  double rate_ = 0;
};

}  // namespace

Action set_up_bench(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<BenchFlags>();
  app.add_option("--attention", options->attentions, "names with commas between (default: lavo)");
  auto* against = app.add_option("--against", options->against, "a peer, timed alternating with each attention");
  app.add_option("--pattern", options->pattern,
                 "noncausal_self, causal_self, noncausal_cross or causal_cross (default: causal_self)");
  app.add_option("--pass", options->passes,
                 "forward, forward_backward or both with a comma (default: forward_backward)");
  app.add_option("--lengths", options->lengths, "numbers of tokens with commas between (default: 1024,4096,16384)");
  app.add_option("--batch", options->batch, "sequences (default: 1)")->check(CLI::Range(1, 65536));
  app.add_option("--heads", options->heads, "heads (default: 8)")->check(CLI::Range(1, 4096));
  app.add_option("--head-dim", options->head_dim, "width of a head (default: 64)")->check(CLI::Range(1, 4096));
  app.add_option("--set", options->set, "name=value: an option of the attention (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--set-against", options->set_against, "name=value: an option of the peer")
      ->allow_extra_args(false)
      ->needs(against);
  app.add_option("--peer-max-length", options->peer_max_length, "leave the peer out beyond this length")
      ->check(CLI::NonNegativeNumber)
      ->needs(against);
  app.add_option("--min-seconds", options->min_seconds, "measured time for each function (default: 0.3)");
  app.add_option("--min-repeats", options->min_repeats, "measured calls of each function, at least (default: 3)")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--layer", options->layer, "time the whole layer with its projections");
  return [options, &common] { Bench(*options, common).run(); };
}

}  // namespace longspan::tool
