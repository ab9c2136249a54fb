// Trainer::run: steps, validation and checkpoints, one after the other.
#include <utility>

#include "longspan/io/atomic_file.h"
#include "longspan/train/checkpoint_store.h"
#include "longspan/train/data_identity.h"
#include "longspan/train/distributed.h"
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
  const auto agreed = [&](bool value) { return peers_ ? peers_->any(value) : value; };
  std::optional<CheckpointStore> store;
  if (!folder.empty() && writes()) {
    make_writable_folder(folder);
    store.emplace(folder);
    store->clear_unfinished();
  }
  // A run that was stopped after this step did not wait for its validation.
  bool only_validate = step_ > 0 && !done() && data_.valid && is_due(step_, options_.valid_every) &&
                       !(validation_ && validation_->step == step_);
  const std::string validated_on = validation_identity(data_, options_);
  bool stop = false;
  do {
    if (!done() && !std::exchange(only_validate, false)) {
      observer.on_step(folder.empty() ? step() : step_or_dump(folder, *tokenizer, extra));
      stop = agreed(observer.should_stop());
    }
    bool improved = false;
    if (data_.valid && (done() || is_due(step_, options_.valid_every)) && !stop) {
      observer.on_validation(validate());
      improved = agreed(store && options_.keep_best > 0 && store->improves(step_, {validation_->loss}, validated_on));
    }
    if (!folder.empty() && checkpoint_due(stop, improved)) {
      if (store) {
        store->add(step_, [&](const std::string& place) { save(place, *tokenizer, extra); });
        store->keep(step_, options_.keep_last, options_.keep_best);
      } else {
        save(folder, *tokenizer, extra);  // gives its part
      }
      observer.on_checkpoint(step_);
    }
  } while (!done() && !stop);
  return done();
}

}  // namespace longspan::train
