// Trainer::run: steps, validation and checkpoints, one after the other.
#include "longspan/io/atomic_file.h"
#include "longspan/train/checkpoint_store.h"
#include "longspan/train/train.h"

namespace longspan::train {

namespace {

bool is_due(int64_t step, int64_t every) { return every > 0 && step % every == 0; }

}  // namespace

bool Trainer::checkpoint_due(bool stopped, bool improved) const {
  return done() || stopped || improved || is_due(step_, options_.checkpoint_every);
}

bool Trainer::run(TrainObserver& observer, const std::string& folder, const Tokenizer* tokenizer, const Json& extra) {
  LONGSPAN_CHECK(folder.empty() || tokenizer, "train: checkpoints need a tokenizer");
  std::optional<CheckpointStore> store;
  if (!folder.empty()) {
    make_writable_folder(folder);
    store.emplace(folder);
    store->clear_unfinished();
  }
  bool stop = false;
  do {
    if (!done()) {
      observer.on_step(store ? step_or_dump(folder, *tokenizer, extra) : step());
      stop = observer.should_stop();
    }
    bool improved = false;
    if (valid_ && (done() || is_due(step_, options_.valid_every)) && !stop) {
      observer.on_validation(validate());
      improved = store && options_.keep_best > 0 && store->improves(step_, validation_->loss);
    }
    if (store && checkpoint_due(stop, improved)) {
      store->add(step_, [&](const std::string& place) { save(place, *tokenizer, extra); });
      store->keep(step_, options_.keep_last, options_.keep_best);
      observer.on_checkpoint(step_);
    }
  } while (!done() && !stop);
  return done();
}

}  // namespace longspan::train
