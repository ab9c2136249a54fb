// Text on its way from the source to words, and which part of the source each part of it came from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longspan {

/// A part of the source, as it is until something is changed. Offsets are in bytes; those of the source count from the
/// beginning of what is encoded.
class AlignedText {
 public:
  /// `source` must outlive this, or the first assign().
  AlignedText(std::string_view source, std::size_t offset) : view_(source), offset_(offset) {}
  /// The part [begin, end) of `from`, which must outlive this, or the first assign().
  AlignedText(const AlignedText& from, std::size_t begin, std::size_t end)
      : view_(from.text().substr(begin, end - begin)),
        offset_(from.changed_ ? from.offset_ : from.offset_ + begin),
        changed_(from.changed_) {
    if (!changed_) return;
    own_ = view_;
    ends_.assign(from.ends_.begin() + static_cast<std::ptrdiff_t>(begin),
                 from.ends_.begin() + static_cast<std::ptrdiff_t>(end));
  }
  AlignedText(const AlignedText&) = delete;
  AlignedText& operator=(const AlignedText&) = delete;

  std::string_view text() const { return changed_ ? std::string_view(own_) : view_; }
  std::size_t offset() const { return offset_; }
  /// Where in the source text()[0, end) ends.
  std::size_t source_end(std::size_t end) const {
    return !changed_ || end == 0 ? offset_ + end : offset_ + ends_[end - 1];
  }

  /// What takes the place of text(): bytes and, for each, where it ends in the source.
  class Change {
   public:
    explicit Change(const AlignedText& from) : from_(from) { out_.reserve(from.text().size() + 16); }
    /// The bytes [begin, end) as they are.
    void keep(std::size_t begin, std::size_t end) {
      out_ += from_.text().substr(begin, end - begin);
      for (std::size_t i = begin; i < end; ++i) ends_.push_back(place(i + 1));
    }
    /// `bytes` in the place of what ends at `end`.
    void put(std::string_view bytes, std::size_t end) {
      out_ += bytes;
      ends_.insert(ends_.end(), bytes.size(), place(end));
    }
    /// What ends at `end` goes, but belongs to the byte before it, if there is one: a mark to its letter.
    void drop(std::size_t end) {
      if (!ends_.empty()) ends_.back() = std::max(ends_.back(), place(end));
    }
    std::size_t size() const { return out_.size(); }

   private:
    friend class AlignedText;
    uint32_t place(std::size_t end) const { return static_cast<uint32_t>(from_.source_end(end) - from_.offset_); }
    const AlignedText& from_;
    std::string out_;
    std::vector<uint32_t> ends_;
  };
  void assign(Change&& change) {
    own_ = std::move(change.out_);
    ends_ = std::move(change.ends_);
    changed_ = true;
  }

 private:
  std::string_view view_;
  std::size_t offset_;
  bool changed_ = false;
  std::string own_;
  std::vector<uint32_t> ends_;
};

/// A part of text().
struct TextSpan {
  std::size_t begin, end;
};

/// Where a text may be cut so that nothing on either side changes; a set of three kinds of places.
struct CutPlaces {
  bool at_blanks = false;       ///< between a letter or number and a blank U+0020
  bool at_lines = false;        ///< between those and other blanks of ASCII, and behind a line feed within text
  bool at_punctuation = false;  ///< between a letter or number and punctuation other than ' and the low line

  CutPlaces operator&(CutPlaces other) const {
    return {at_blanks && other.at_blanks, at_lines && other.at_lines, at_punctuation && other.at_punctuation};
  }
  CutPlaces operator|(CutPlaces other) const {
    return {at_blanks || other.at_blanks, at_lines || other.at_lines, at_punctuation || other.at_punctuation};
  }
};
inline constexpr CutPlaces kCutAnywhere = {true, true, true};
inline constexpr CutPlaces kCutAtBlanks = {true, true, false};
inline constexpr CutPlaces kCutNowhere = {false, false, false};

}  // namespace longspan
