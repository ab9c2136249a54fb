// The documents of a plain text as records.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "longspan/data/records.h"
#include "longspan/io/byte_source.h"

namespace longspan {

/// Calls `on_document` for every document of `source`. Returns whether there was a byte at all. Throws InputError as
/// read_text_records() does.
bool read_plain_records(ByteSource& source, const RecordOptions& options,
                        const std::shared_ptr<const std::string>& name,
                        const std::function<void(std::string text, RecordPlace place)>& on_document);

}  // namespace longspan
