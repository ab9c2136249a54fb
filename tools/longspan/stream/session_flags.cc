#include "session_flags.h"

#include <CLI/CLI.hpp>

#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"
#include "tools/longspan/output_file.h"

namespace longspan::tool {

namespace {
constexpr const char* kNote = "text";
}

void SessionFlags::add_to(CLI::App& app) {
  app.add_option("--load-state", load,
                 "go on with the stream of this file, written by --save-state of generate or score");
  app.add_option("--save-state", save,
                 "write the stream's state to this file at the end, after Ctrl-C too, to go on with later");
}

void SessionFlags::check() const {
  if (!saves()) return;
  check_replaces_state("--save-state", save);
  const AtomicFile trial(save);
}

TextSession SessionFlags::begin(const models::LanguageModel& model) const {
  if (load.empty()) return {models::begin_session(model), {}};
  TextSession out = {models::load_session(load, model), {}};
  if (const auto note = out.session.notes.find(kNote); note != out.session.notes.end())
    out.ledger = Ledger(note->second, load);
  return out;
}

void SessionFlags::finish(const models::LanguageModel& model, TextSession& text) const {
  if (!saves()) return;
  text.session.notes[kNote] = text.ledger.note();
  models::save_session(save, model, text.session);
}

}  // namespace longspan::tool
