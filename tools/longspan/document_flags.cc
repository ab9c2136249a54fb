#include "document_flags.h"

#include <CLI/CLI.hpp>
#include <map>
#include <string_view>

#include "longspan/base/check.h"

namespace longspan::tool {

namespace {

/// A separator as it was typed: \n, \r, \t, \0 and \\ stand for what they do in C.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    constexpr std::string_view kNames = "nrt0\\", kMeanings{"\n\r\t\0\\", 5};
    const std::size_t which = i + 1 < text.size() ? kNames.find(text[i + 1]) : std::string_view::npos;
    LONGSPAN_CHECK(which != std::string_view::npos, "--separator: '", text,
                   "' has a backslash before something else than n, r, t, 0 or \\");
    out += kMeanings[which];
    ++i;
  }
  LONGSPAN_CHECK(!out.empty(), "--separator: expected a text, got ''");
  return out;
}

const std::map<std::string, DocumentRule> kDocuments = {
    {"file", DocumentRule::file}, {"line", DocumentRule::line}, {"blank", DocumentRule::blank}};

}  // namespace

void DocumentFlags::add(CLI::App& app, const std::string& group) {
  auto* documents = app.add_option("--documents", documents_,
                                   "what a document is: file, line, or blank: what stands between empty lines "
                                   "(default: file)")
                        ->check(CLI::IsMember(kDocuments));
  auto* separator =
      app.add_option("--separator", separator_,
                     "text that parts documents and is left out, such as '<|endoftext|>'; \\n, \\r, \\t, \\0 as in C")
          ->excludes(documents);
  if (group.empty()) return;
  documents->group(group);
  separator->group(group);
}

DocumentRule DocumentFlags::rule() const { return separator_ ? DocumentRule::separator : kDocuments.at(documents_); }

std::string DocumentFlags::separator() const { return separator_ ? unescaped(*separator_) : ""; }

}  // namespace longspan::tool
