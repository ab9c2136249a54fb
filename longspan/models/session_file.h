// Sessions in files: a book today, the next one tomorrow.
#pragma once

#include <string>

#include "longspan/models/session.h"

namespace longspan::models {

/// Writes `session` to a safetensors file bound to the model: whole or not at all, an older file stays when writing
/// fails. RunError naming file and reason.
void save_session(const std::string& path, const LanguageModel& model, const Session& session);

/// InputError in one line naming what differs for a file that is damaged, was altered, belongs to another
/// configuration, number format or other weights, or holds what no session of this model can hold.
Session load_session(const std::string& path, const LanguageModel& model);

}  // namespace longspan::models
