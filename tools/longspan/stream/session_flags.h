// --load-state and --save-state.
#pragma once

#include <string>

#include "ledger.h"
#include "longspan/models/session_file.h"

namespace CLI {
class App;
}

namespace longspan::tool {

/// A stream with its place in its text.
struct TextSession {
  models::Session session;
  Ledger ledger;
};

struct SessionFlags {
  std::string load, save;

  void add_to(CLI::App& app);
  /// To be called before long work: RunError or InputError when --save-state could not be written.
  void check() const;
  /// The stream of --load-state, or a new one. InputError naming the file and what differs.
  TextSession begin(const models::LanguageModel& model) const;
  bool saves() const { return !save.empty(); }
  /// Writes --save-state where it was given, whole or not at all.
  void finish(const models::LanguageModel& model, TextSession& text) const;
};

}  // namespace longspan::tool
