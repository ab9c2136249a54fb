// longspan score: how probable a model finds a text, of any length, as it comes.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>

#include "command.h"
#include "interrupt.h"
#include "log.h"
#include "longspan/base/check.h"
#include "longspan/metrics/likelihood.h"
#include "longspan/models/model_files.h"
#include "longspan/models/stream_reader.h"
#include "longspan/report/format.h"
#include "longspan/train/autocast.h"
#include "longspan/train/tensor_memory.h"
#include "output.h"
#include "stream/byte_input.h"
#include "stream/late_progress.h"
#include "stream/marks.h"
#include "stream/session_flags.h"
#include "stream/token_feed.h"
#include "stream/token_times.h"
#include "timing.h"

namespace longspan::tool {

namespace {

struct ScoreFlags {
  std::string model, text = "-", per = "all";
  int64_t skip = 0;
  std::optional<double> mark;
  int64_t mark_top = 0;
  SessionFlags state;
};

class Score {
 public:
  Score(const ScoreFlags& options, const CommonOptions& common)
      : options_(options),
        common_(common),
        input_(options.text),
        loaded_(load(options, common)),
        text_(options.state.begin(*loaded_.model)),
        reader_(*loaded_.model, text_.session),
        feed_(*loaded_.tokenizer, text_.session.text, options.text == "-" ? "stdin" : options.text),
        top_(static_cast<std::size_t>(options.mark_top)),
        colour_(isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr) {
    input_.skip(options.skip);
    progress_.emplace("score", input_.left(), common.quiet);
  }

  void run() {
    const train::AutocastGuard autocast(common_.dtype == "bfloat16");
    if (common_.json) warm_up();
    if (lines() && !common_.json) print_text("    line     bytes    log-likelihood  bits/byte\n");
    while (read_some()) {
    }
    // What stops in the middle of a line goes on there in the next session.
    if (!options_.state.saves()) accept(feed_.finish());
    flush();
    pass(feed_.take_silent());
    times_.add(of_piece_, of_piece_ > 0 ? seconds_per_row_ * static_cast<double>(of_piece_) : 0);
    show_progress();  // what the last tokens made of it
    progress_->finish();
    if (lines() && !options_.state.saves() && text_.ledger.open_line().sums.bytes > 0) print(text_.ledger.open_line());
    for (const Mark& mark : top_.sorted()) print(mark);
    options_.state.finish(*loaded_.model, text_);
    print_sums();
    if (interrupt_requested() && options_.text != "-")
      log_info(str_cat("stopped; the rest of the text begins at --skip ", options_.skip + bytes_read_));
    stop_if_interrupted();
  }

 private:
  static models::LoadedModel load(const ScoreFlags& options, const CommonOptions& common) {
    options.state.check();
    models::LoadedModel loaded = models::load_model(options.model);
    if (common.dtype == "float64") loaded.model->to(at::kDouble);
    return loaded;
  }

  bool lines() const { return options_.per == "line"; }

  /// One piece of a stream of its own: the first tokens are timed like the others, not with what torch sets up once.
  void warm_up() {
    models::Session other = models::begin_session(*loaded_.model);
    const std::vector<int64_t> tokens(models::kStreamPiece, 0);
    models::StreamReader(*loaded_.model, other).read(tokens);
  }

  /// Reads what there is, no more than completes a piece, so that nothing read is left over when a Ctrl-C comes. False
  /// at the end.
  bool read_some() {
    std::array<char, 4096> buffer;
    const auto room = std::min(static_cast<std::size_t>(reader_.room()), buffer.size());
    const std::size_t got = input_.read(buffer.data(), room);
    if (got == 0) return false;
    bytes_read_ += static_cast<int64_t>(got);
    accept(feed_.push({buffer.data(), got}));
    if (shows_places() && reader_.waiting() > 0 && input_.pauses()) flush();
    show_progress();
    return true;
  }

  void show_progress() {
    if (!(shows_places() && isatty(STDOUT_FILENO) == 1))
      progress_->update(bytes_read_, sums_.predicted_bytes > 0 ? bits_text() + " bits/byte" : "");
  }

  bool shows_places() const { return lines() || options_.mark; }
  std::string bits_text() const { return report::fixed(sums_.bits_per_byte().get<double>(), 4); }

  void accept(std::vector<FedToken> fed) {
    const std::vector<int64_t> numbers = numbers_of(fed);
    for (FedToken& token : fed) unscored_.push_back(std::move(token));
    for (std::span<const int64_t> tokens = numbers; !tokens.empty();) {
      const int64_t rows = reader_.piece(), room = reader_.room();
      const auto part = tokens.first(std::min(tokens.size(), static_cast<std::size_t>(room)));
      tokens = tokens.subspan(part.size());
      of_piece_ += static_cast<int64_t>(part.size());
      const double start = now();
      const std::vector<double> known = reader_.read(part);
      const double seconds = now() - start;
      busy_ += seconds;
      if (static_cast<int64_t>(part.size()) == room) {
        times_.add(of_piece_, seconds / static_cast<double>(rows) * static_cast<double>(of_piece_));
        of_piece_ = 0;
      }
      settle(known);
    }
  }

  void flush() {
    if (reader_.waiting() == 0) return;
    const double start = now();
    const std::vector<double> known = reader_.flush();
    const double seconds = now() - start;
    busy_ += seconds;
    seconds_per_row_ = seconds / static_cast<double>(reader_.piece());
    settle(known);
  }

  /// The next tokens' scores are known.
  void settle(const std::vector<double>& known) {
    for (const double nll : known) {
      const FedToken next = std::move(unscored_.front());
      unscored_.pop_front();
      pass(next.silent);
      const double bits = metrics::bits(nll);  // NaN is above no threshold
      if (options_.mark && bits >= *options_.mark) print(mark_of(next.bytes, bits));
      if (!std::isnan(bits) && top_.wants(bits)) top_.add(mark_of(next.bytes, bits));
      sums_.add(static_cast<int64_t>(next.bytes.size()), nll);
      if (const auto line = text_.ledger.add(next.bytes, nll); line && lines()) print(*line);
    }
  }

  /// Text that has no token.
  void pass(const std::string& silent) {
    sums_.add_silent(static_cast<int64_t>(silent.size()));
    for (const LineScore& line : text_.ledger.pass(silent))
      if (lines()) print(line);
  }

  Mark mark_of(const std::string& bytes, double bits) const {
    return {text_.ledger.offset(), text_.ledger.open_line().line, bits, text_.ledger.context(), bytes};
  }

  void print(const Mark& mark) const {
    if (common_.json)
      print_json(to_json(mark));
    else
      print_text(to_line(mark, colour_) + "\n");
  }

  void print(const LineScore& line) const {
    const Json bits = line.sums.bits_per_byte();
    if (common_.json) {
      print_json({{"event", "line"},
                  {"line", line.line},
                  {"offset", line.offset},
                  {"bytes", line.sums.bytes},
                  {"tokens", line.sums.tokens},
                  {"log_likelihood", line.sums.log_likelihood()},
                  {"bits_per_byte", bits}});
      return;
    }
    print_text(report::pad_left(std::to_string(line.line), 8) + report::pad_left(std::to_string(line.sums.bytes), 10) +
               report::pad_left(report::fixed(line.sums.log_likelihood(), 4), 18) +
               report::pad_left(bits.is_null() ? "-" : report::fixed(bits.get<double>(), 4), 11) + "\n");
  }

  void print_sums() const {
    const TextSums& stream = text_.ledger.stream();
    const int64_t state_bytes = text_.session.state.bytes();
    if (common_.json) {
      print_json({{"event", "total"},
                  {"tokens", sums_.tokens},
                  {"bits_per_byte", sums_.bits_per_byte()},
                  {"log_likelihood", sums_.log_likelihood()},
                  {"predicted_tokens", sums_.predicted_tokens},
                  {"bytes", sums_.bytes},
                  {"stream_tokens", text_.session.tokens()},
                  {"stream_bytes", stream.bytes},
                  {"stream_log_likelihood", stream.log_likelihood()},
                  {"stream_bits_per_byte", stream.bits_per_byte()},
                  {"state_bytes", state_bytes},
                  {"peak_rss_bytes", train::peak_resident_bytes()},
                  {"us_per_token", sums_.tokens > 0 ? busy_ * 1e6 / static_cast<double>(sums_.tokens) : 0},
                  {"us_per_token_first_1000", times_.first()},
                  {"us_per_token_last_1000", times_.last()},
                  {"interrupted", interrupt_requested()}});
      return;
    }
    print_text(total_line(sums_, "in all: "));
    if (stream.tokens > sums_.tokens) print_text(total_line(stream, "since the stream began: "));
    print_text(str_cat("state: ", report::bytes(static_cast<double>(state_bytes)), " after ",
                       report::grouped(text_.session.tokens()), " tokens\n"));
  }

  static std::string total_line(const TextSums& sums, const std::string& begin) {
    const Json bits = sums.bits_per_byte();
    return str_cat(begin, report::grouped(sums.bytes), " bytes, ",
                   bits.is_null() ? "none of them predicted"
                                  : report::fixed(bits.get<double>(), 4) + " bits per byte, log-likelihood " +
                                        report::fixed(sums.log_likelihood(), 3),
                   "\n");
  }

  const ScoreFlags& options_;
  const CommonOptions& common_;
  ByteInput input_;
  models::LoadedModel loaded_;
  TextSession text_;
  models::StreamReader reader_;
  TokenFeed feed_;
  TopMarks top_;
  bool colour_;
  std::optional<LateProgress> progress_;
  std::deque<FedToken> unscored_;  ///< tokens that wait for their score
  TextSums sums_;                  ///< of this run
  int64_t bytes_read_ = 0;
  TokenTimes times_;
  double busy_ = 0;             ///< seconds in the model
  int64_t of_piece_ = 0;        ///< tokens of this run in the piece under way
  double seconds_per_row_ = 0;  ///< of the last flush
};

}  // namespace

Action set_up_score(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<ScoreFlags>();
  const auto is_number = [](const std::string& text) {  // Range lets NaN pass, which is above and below nothing
    return std::string(std::isnan(std::strtod(text.c_str(), nullptr)) ? "expected a number, got " + text : "");
  };
  app.add_option("model", options->model, "folder of the model")->required();
  app.add_option("--text", options->text, "file to read, - for stdin (default: -)");
  app.add_option("--skip", options->skip, "pass over this many bytes of the text first (default: 0)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 62));
  app.add_option("--per", options->per, "line: the log-likelihood of every line too; all: of the whole (default: all)")
      ->check(CLI::IsMember({"all", "line"}));
  app.add_option("--mark", options->mark, "show every token of at least this many bits, -log2 of its probability")
      ->check(CLI::Range(0.0, 1e9))
      ->check(is_number);
  app.add_option("--mark-top", options->mark_top, "show the tokens with the most bits, so many, at the end")
      ->check(CLI::Range(1, 1000000));
  options->state.add_to(app);
  return [options, &common] { Score(*options, common).run(); };
}

}  // namespace longspan::tool
