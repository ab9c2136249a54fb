// --documents and --separator: what a document of plain text is.
#pragma once

#include <optional>
#include <string>

#include "longspan/data/document_cutter.h"

namespace CLI {
class App;
}

namespace longspan::tool {

class DocumentFlags {
 public:
  /// This outlives the parser. `group`: of the help text, "" for that of the subcommand.
  void add(CLI::App& app, const std::string& group = "");
  DocumentRule rule() const;
  /// Of DocumentRule::separator, else "". InputError for one that is empty or has a backslash that means nothing.
  std::string separator() const;

 private:
  std::string documents_ = "file";
  std::optional<std::string> separator_;
};

}  // namespace longspan::tool
