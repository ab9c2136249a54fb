#include "longspan/data/plain_records.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/data/line_reader.h"
#include "longspan/text/utf8.h"

namespace longspan {

namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18;

int64_t line_feeds(std::string_view text) { return std::count(text.begin(), text.end(), '\n'); }

/// Collects the document at hand and counts lines.
class Documents {
 public:
  Documents(const RecordOptions& options, const std::shared_ptr<const std::string>& name,
            const std::function<void(std::string text, RecordPlace place)>& on_document)
      : options_(options), name_(name), on_document_(on_document), separator_feeds_(line_feeds(options.separator)) {}

  void text(std::string_view bytes) {
    if (document_.empty()) first_line_ = line_;
    LONGSPAN_CHECK(document_.size() + bytes.size() <= static_cast<std::size_t>(kLargestRecord), *name_, ":",
                   first_line_, ": the document is longer than ", kLargestRecord, " bytes");
    document_ += bytes;
    line_ += line_feeds(bytes);
  }
  void end() {
    line_ += separator_feeds_;
    std::string document = std::exchange(document_, {});
    if (options_.documents == DocumentRule::line || options_.documents == DocumentRule::blank)
      document.resize(document.find_last_not_of("\r\n") + 1);
    if (document.empty()) return;
    RecordPlace place{name_, first_line_};
    if (options_.utf8) {
      const std::string fault = utf8_fault(document, 0);
      LONGSPAN_CHECK(fault.empty(), place.text(), ": the document ", fault);
    }
    on_document_(std::move(document), std::move(place));
  }

 private:
  const RecordOptions& options_;
  const std::shared_ptr<const std::string>& name_;
  const std::function<void(std::string text, RecordPlace place)>& on_document_;
  int64_t separator_feeds_;
  std::string document_;
  int64_t line_ = 1, first_line_ = 1;
};

}  // namespace

bool read_plain_records(ByteSource& source, const RecordOptions& options,
                        const std::shared_ptr<const std::string>& name,
                        const std::function<void(std::string text, RecordPlace place)>& on_document) {
  Documents documents(options, name, on_document);
  DocumentCutter cutter(
      options.documents, options.separator, [&](std::string_view bytes, int64_t) { documents.text(bytes); },
      [&] { documents.end(); });
  std::vector<char> buffer(kBuffer);
  std::size_t held = 0;  // bytes at the start, until there are enough to see a byte order mark
  bool started = false, any = false;
  for (std::size_t got = 1; got > 0;) {
    got = source.read(buffer.data() + held, buffer.size() - held);
    any = any || got > 0;
    held += got;
    if (!started && held < 3 && got > 0) continue;
    std::string_view bytes(buffer.data(), std::exchange(held, 0));
    if (!std::exchange(started, true) && options.utf8) bytes = without_byte_order_mark(bytes, *name);
    cutter.push(bytes);
  }
  cutter.finish();
  return any;
}

}  // namespace longspan
