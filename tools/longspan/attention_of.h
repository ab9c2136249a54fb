// The attention modules of a model.
#pragma once

#include "longspan/base/check.h"
#include "longspan/models/language_model.h"

namespace longspan::tool {

/// The attention of the first layer; all layers have the same method and options.
inline const nn::Attention& attention_of(const models::LanguageModel& model) {
  for (const auto& module : model.modules(/*include_self=*/false))
    if (const auto* attention = dynamic_cast<const nn::Attention*>(module.get())) return *attention;
  throw InternalError("a language model without an attention");
}

}  // namespace longspan::tool
