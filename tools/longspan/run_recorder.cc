#include "run_recorder.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "log.h"
#include "longspan/base/check.h"
#include "timing.h"

namespace longspan::tool {

namespace {

constexpr double kPageInterval = 5;      // seconds between two pages, at least
constexpr double kPageShare = 1.0 / 50;  // of the time that writing them may take

std::string utc_now() {
  const std::time_t time = std::time(nullptr);
  std::tm parts;
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

}  // namespace

RunRecorder::RunRecorder(std::string folder, report::TrainingRun page, double bytes_per_token)
    : folder_(std::move(folder)),
      page_(std::move(page)),
      bytes_per_token_(bytes_per_token),
      loss_(bytes_per_token > 0 ? "bits_per_byte" : "loss"),
      first_step_(page_.step),
      started_(now()) {
  page_.checkpoint = page_.step;
  own_ = page_.sessions.empty() ? report::TrainingSession{page_.step, "", ""} : page_.sessions.front();
  page_.sessions.clear();
}

RunRecorder::~RunRecorder() {
  if (finished_ || !history_) return;
  try {
    finish(report::TrainingRun::Status::failed);
  } catch (...) {  // the error that ended the run is the one to be told
  }
}

template <class Action>
void RunRecorder::attempt(const Action& action) {
  if (off_) return;
  try {
    if (!history_) {
      history_.emplace(folder_ + "/" + train::History::kFile, first_step_, bytes_per_token_,
                       [this](const Json& event) { note(event); });
      add(own_);
      history_->start(first_step_, page_.steps, at::get_num_threads(), own_.command, own_.data);
    }
    action();
  } catch (const Error& error) {
    off_ = true;
    log_info(str_cat("warning: ", error.what(), "; the run goes on, but its history and page are kept no longer"));
  }
}

/// An event of the file or of this process, into the page's curves.
void RunRecorder::note(const Json& event) {
  const auto number = [&](const char* name) {
    const auto found = event.find(name);
    return found != event.end() && found->is_number() ? found->get<double>() : 0;
  };
  const auto text = [&](const char* name) {
    const auto found = event.find(name);
    return found != event.end() && found->is_string() ? found->get<std::string>() : "";
  };
  const std::string kind = text("event");
  const double step = number("step");
  if (kind == "step") {
    page_.loss.add(step, number(loss_));
    page_.gradient_norm.add(step, number("grad_norm"));
    page_.learning_rate.add(step, number("lr"));
    page_.tokens_per_second.add(step, number("tokens_per_second"));
  } else if (kind == "validation") {
    std::erase_if(page_.validation, [&](const auto& point) { return point.first == step; });
    page_.validation.emplace_back(step, number(loss_));
  } else if (kind == "start") {
    add({static_cast<int64_t>(step), text("command"), text("data")});
  }
}

void RunRecorder::add(const report::TrainingSession& session) {
  // One that began at the same step did nothing that stayed.
  std::erase_if(page_.sessions, [&](const auto& other) { return other.step >= session.step; });
  page_.sessions.push_back(session);
}

void RunRecorder::on_step(const train::StepResult& result) {
  attempt([&] {
    history_->on_step(result);
    note(train::to_json(result, bytes_per_token_));
    page_.step = result.step;
    const double per_step = (now() - started_) / static_cast<double>(result.step - first_step_);
    page_.seconds_left = per_step * static_cast<double>(page_.steps - result.step);
    write_page_if_due();
  });
}

void RunRecorder::on_validation(const train::ValidationResult& result) {
  attempt([&] {
    history_->on_validation(result);
    note(train::to_json(result));
  });
}

void RunRecorder::on_checkpoint(int64_t step) {
  attempt([&] {
    history_->on_checkpoint(step);
    page_.checkpoint = step;
  });
}

void RunRecorder::finish(report::TrainingRun::Status status, const std::string& prompt, const std::string& sample) {
  finished_ = true;
  attempt([&] {
    page_.status = status;
    page_.prompt = prompt;
    page_.sample = sample;
    write_page();
  });
}

void RunRecorder::write_page_if_due() {
  if (now() >= next_page_) write_page();
}

void RunRecorder::write_page() {
  const double start = now();
  page_.written = utc_now();
  report::training_page(page_).save(folder_ + "/" + kPage);
  const double cost = now() - start;
  next_page_ = now() + std::max(kPageInterval, cost / kPageShare);
}

}  // namespace longspan::tool
