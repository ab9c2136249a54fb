#include "ledger.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "longspan/base/fields.h"
#include "longspan/metrics/likelihood.h"

namespace longspan::tool {

namespace {

/// A ledger as its note has it.
struct Record {
  int64_t tokens = 0, bytes = 0, predicted_tokens = 0, predicted_bytes = 0;
  double nats = 0;
  int64_t line = 1, line_offset = 0;
  int64_t line_tokens = 0, line_bytes = 0, line_predicted_tokens = 0, line_predicted_bytes = 0;
  double line_nats = 0;
  std::string context;  ///< hexadecimal: any bytes
};

const FieldTable<Record>& record_fields() {
  constexpr FieldRange count = {0, 0x1p62};
  static const auto table = FieldTable<Record>("note")
                                .integer("tokens", &Record::tokens, count, "")
                                .integer("bytes", &Record::bytes, count, "")
                                .integer("predicted_tokens", &Record::predicted_tokens, count, "")
                                .integer("predicted_bytes", &Record::predicted_bytes, count, "")
                                .real("nats", &Record::nats, {}, "")
                                .integer("line", &Record::line, count, "")
                                .integer("line_offset", &Record::line_offset, count, "")
                                .integer("line_tokens", &Record::line_tokens, count, "")
                                .integer("line_bytes", &Record::line_bytes, count, "")
                                .integer("line_predicted_tokens", &Record::line_predicted_tokens, count, "")
                                .integer("line_predicted_bytes", &Record::line_predicted_bytes, count, "")
                                .real("line_nats", &Record::line_nats, {}, "")
                                .text("context", &Record::context, "");
  return table;
}

constexpr std::string_view kDigits = "0123456789abcdef";

std::string to_hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    out += kDigits[static_cast<unsigned char>(byte) >> 4];
    out += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return out;
}

std::string from_hex(std::string_view text, const std::string& origin) {
  LONGSPAN_CHECK(text.size() % 2 == 0 && text.size() <= 2 * Ledger::kContext &&
                     text.find_first_not_of(kDigits) == std::string_view::npos,
                 origin, ": context must be up to ", Ledger::kContext, " bytes in hexadecimal, got '", text, "'");
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2)
    out += static_cast<char>(16 * kDigits.find(text[i]) + kDigits.find(text[i + 1]));
  return out;
}

}  // namespace

void TextSums::add(int64_t more, double nll) {
  ++tokens;
  bytes += more;
  if (std::isnan(nll)) return;
  ++predicted_tokens;
  predicted_bytes += more;
  nats += nll;
}

void TextSums::add_silent(int64_t more) {
  bytes += more;
  if (predicted_tokens > 0) predicted_bytes += more;
}

Json TextSums::bits_per_byte() const {
  return predicted_bytes > 0 ? Json(metrics::bits_per_byte(nats, static_cast<double>(predicted_bytes))) : Json();
}

Ledger::Ledger(const std::string& note, const std::string& origin) {
  const std::string place = origin + ": note";
  const Record r = record_fields().parse(to_field_values(parse_json(note, place), place));
  stream_ = {r.tokens, r.bytes, r.predicted_tokens, r.predicted_bytes, r.nats};
  line_ = {r.line,
           r.line_offset,
           {r.line_tokens, r.line_bytes, r.line_predicted_tokens, r.line_predicted_bytes, r.line_nats}};
  context_ = from_hex(r.context, place);
}

std::string Ledger::note() const {
  const TextSums &s = stream_, &l = line_.sums;
  const Record record = {s.tokens,          s.bytes,      s.predicted_tokens, s.predicted_bytes, s.nats,
                         line_.line,        line_.offset, l.tokens,           l.bytes,           l.predicted_tokens,
                         l.predicted_bytes, l.nats,       to_hex(context_)};
  return to_json(record_fields().values(record)).dump();
}

void Ledger::note_context(std::string_view bytes) {
  context_ += bytes;
  if (context_.size() > kContext) context_.erase(0, context_.size() - kContext);
}

LineScore Ledger::end_line() { return std::exchange(line_, {line_.line + 1, stream_.bytes, {}}); }

std::optional<LineScore> Ledger::add(std::string_view bytes, double nll) {
  stream_.add(static_cast<int64_t>(bytes.size()), nll);
  line_.sums.add(static_cast<int64_t>(bytes.size()), nll);
  note_context(bytes);
  if (bytes.find('\n') == std::string_view::npos) return std::nullopt;
  return end_line();
}

std::vector<LineScore> Ledger::pass(std::string_view bytes) {
  std::vector<LineScore> out;
  note_context(bytes);
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
    stream_.add_silent(static_cast<int64_t>(end));
    line_.sums.add_silent(static_cast<int64_t>(end));
    if (bytes[end - 1] == '\n') out.push_back(end_line());
    bytes.remove_prefix(end);
  }
  return out;
}

}  // namespace longspan::tool
