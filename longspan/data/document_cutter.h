// Where one document of a text ends and the next begins.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace longspan {

/// What a document is, within a file; the end of a file ends one always.
enum class DocumentRule {
  file,       ///< a file (archive, standard input) is one document
  line,       ///< each line; empty lines belong to the one before
  blank,      ///< parted by empty lines, which belong to the one before
  separator,  ///< parted by a given text, which is left out
};

/// Cuts the bytes of files into documents as they come, whatever the pieces.
class DocumentCutter {
 public:
  /// A part of the current document, and where it begins in the file; not empty. Views are valid during the call.
  using OnText = std::function<void(std::string_view text, int64_t offset)>;
  using OnEnd = std::function<void()>;

  /// `separator`: for DocumentRule::separator, not empty. `on_end` comes after each document, and may come without text
  /// before it.
  DocumentCutter(DocumentRule rule, std::string separator, OnText on_text, OnEnd on_end);

  /// The next bytes of a file.
  void push(std::string_view bytes);
  /// The file ends; the next push() is of another.
  void finish();

 private:
  void push_lines(std::string_view bytes);
  void push_separated(std::string_view bytes);
  void emit(std::string_view text);

  DocumentRule rule_;
  std::string separator_;
  OnText on_text_;
  OnEnd on_end_;
  int64_t offset_ = 0;  ///< of the next byte to emit
  // Lines: an empty one holds nothing but '\r'.
  bool has_text_ = false;   ///< the document has a line that is not empty
  bool empty_line_ = true;  ///< so far the line is
  bool at_border_ = false;  ///< the next line that is not empty begins a document
  std::string held_;        ///< what may be the start of a separator
};

}  // namespace longspan
