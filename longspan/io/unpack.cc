#include "longspan/io/unpack.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "longspan/base/check.h"

namespace longspan {

namespace {

using namespace std::string_view_literals;

constexpr std::size_t kBuffer = std::size_t{1} << 18;
static_assert(kPackingHead >= 262, "where tar's mark ends");
constexpr uint64_t kMostMemory = uint64_t{2} << 30;
constexpr int kLargestWindowLog = 31;  // of zstd: 2 GiB

/// What a codec throws when its input cannot be unpacked.
struct Damage {
  std::string reason;
};

/// One unpacking algorithm.
class Codec {
 public:
  virtual ~Codec() = default;
  struct Step {
    std::size_t consumed = 0, produced = 0;
  };
  /// Works on as much as it can; `last`: no input comes after this. Throws Damage.
  virtual Step step(std::string_view in, char* out, std::size_t size, bool last) = 0;
  /// Whether the archive may end here.
  virtual bool complete() const = 0;
};

class Gzip final : public Codec {
 public:
  Gzip() {
    constexpr int kGzipOnly = 16 + 15;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Gzip() override { inflateEnd(&stream_); }

  Step step(std::string_view in, char* out, std::size_t size, bool) override {
    Step done;
    if (complete_ && !in.empty()) {
      // Between two archives, or in the zeros with which tapes and block devices fill up.
      const std::size_t first = std::min(in.find_first_not_of('\0'), in.size());
      if (first > 0) return {first, 0};
      inflateReset(&stream_);
      complete_ = false;
    }
    if (complete_) return done;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(size, kBuffer));
    const uInt room = stream_.avail_out;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      throw Damage{stream_.msg ? stream_.msg : "wrong data"};
    complete_ = result == Z_STREAM_END;
    return {in.size() - stream_.avail_in, room - stream_.avail_out};
  }
  bool complete() const override { return complete_; }

 private:
  z_stream stream_ = {};
  bool complete_ = false;
};

class Xz final : public Codec {
 public:
  Xz() {
    if (lzma_stream_decoder(&stream_, kMostMemory, LZMA_CONCATENATED) != LZMA_OK) throw std::bad_alloc();
  }
  ~Xz() override { lzma_end(&stream_); }

  Step step(std::string_view in, char* out, std::size_t size, bool last) override {
    if (complete_) return {};
    stream_.next_in = reinterpret_cast<const uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<uint8_t*>(out);
    stream_.avail_out = size;
    const lzma_ret result = lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN);
    switch (result) {
      case LZMA_OK:
      case LZMA_BUF_ERROR:  // no progress: the caller sees that
        break;
      case LZMA_STREAM_END:
        complete_ = true;
        break;
      case LZMA_MEM_ERROR:
        throw std::bad_alloc();
      case LZMA_MEMLIMIT_ERROR:
        throw Damage{"it needs more than 2 GiB of memory"};
      case LZMA_OPTIONS_ERROR:
        throw Damage{"unknown options"};
      default:
        throw Damage{"wrong data"};
    }
    return {in.size() - stream_.avail_in, size - stream_.avail_out};
  }
  bool complete() const override { return complete_; }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool complete_ = false;
};

class Zstandard final : public Codec {
 public:
  Zstandard() : stream_(ZSTD_createDStream()) {
    if (!stream_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kLargestWindowLog);  // as of `zstd --long=31`
  }
  ~Zstandard() override { ZSTD_freeDStream(stream_); }

  Step step(std::string_view in, char* out, std::size_t size, bool) override {
    if (complete_ && in.empty()) return {};
    ZSTD_inBuffer input = {in.data(), in.size(), 0};
    ZSTD_outBuffer output = {out, size, 0};
    const std::size_t result = ZSTD_decompressStream(stream_, &output, &input);
    if (ZSTD_isError(result)) throw Damage{ZSTD_getErrorName(result)};
    complete_ = result == 0;
    return {input.pos, output.pos};
  }
  bool complete() const override { return complete_; }

 private:
  ZSTD_DStream* stream_;
  bool complete_ = false;
};

template <class T>
std::unique_ptr<Codec> make() {
  return std::make_unique<T>();
}

struct Format {
  const char* name;
  std::string_view ending;  ///< of file names, "" where none is expected
  std::string_view magic;
  std::size_t offset;
  std::unique_ptr<Codec> (*codec)();  ///< null: not read
};

// zstd: frames, and the skippable ones (0x184D2A50 and 15 more) that parallel packers put first.
constexpr Format kFormats[] = {
    {"gzip", ".gz", "\x1f\x8b\x08"sv, 0, make<Gzip>},
    {"xz", ".xz",
     "\xfd"
     "7zXZ\0"sv,
     0, make<Xz>},
    {"zstd", ".zst", "\x28\xb5\x2f\xfd"sv, 0, make<Zstandard>},
    {"zip", "", "PK\x03\x04"sv, 0, nullptr},
    {"lz4", "", "\x04\x22\x4d\x18"sv, 0, nullptr},
    {"7z", "", "7z\xbc\xaf\x27\x1c"sv, 0, nullptr},
    {"bzip2", "", "1AY&SY"sv, 4, nullptr},
    {"tar", "", "ustar"sv, 257, nullptr},
};

/// One of the sixteen marks of skippable frames, or, with fewer than four bytes, how one begins.
bool begins_skippable_zstd(std::string_view head) {
  return !head.empty() && (static_cast<unsigned char>(head[0]) & 0xF0) == 0x50 &&
         "\x2a\x4d\x18"sv.starts_with(head.substr(1, 3));
}

bool is_skippable_zstd(std::string_view head) { return head.size() >= 4 && begins_skippable_zstd(head); }

const Format* recognise(std::string_view head) {
  for (const Format& format : kFormats) {
    if (head.size() > format.offset && head.substr(format.offset, format.magic.size()) == format.magic) return &format;
    if (format.ending == ".zst" && is_skippable_zstd(head)) return &format;
  }
  return nullptr;
}

/// Refuses a name with the ending of another format than that of the content.
void check_ending(const std::string& name, const Format* format, bool empty) {
  for (const Format& other : kFormats)
    LONGSPAN_CHECK(other.ending.empty() || !name.ends_with(other.ending) || format == &other || empty, name,
                   ": is named like a ", other.name, " archive but does not begin like one");
}

void refuse_unread(const Format* format, const std::string& name) {
  LONGSPAN_CHECK(!format || format->codec, name, ": is a ", format->name,
                 " archive, which is not read; unpack it first");
}

/// Input that was read ahead, then the rest of the source.
class Buffered {
 public:
  explicit Buffered(ByteSource& source) : source_(source), buffer_(kBuffer) {}

  std::string_view bytes() const { return {buffer_.data() + begin_, end_ - begin_}; }
  /// The first bytes, as many as tell a format.
  std::string_view head() {
    while (!ended_ && bytes().size() < kPackingHead) fill();
    return bytes();
  }
  void consume(std::size_t size) { begin_ += size; }
  bool ended() const { return ended_; }
  /// More bytes behind those that are left; notes the end.
  void fill() {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
    const std::size_t got = source_.read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += got;
    ended_ = got == 0;
  }

 private:
  ByteSource& source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  bool ended_ = false;
};

/// What was read ahead, then the rest.
class Plain final : public ByteSource {
 public:
  /// `owned`: the source, where nobody else keeps it.
  Plain(ByteSource& source, std::unique_ptr<Buffered> head, std::unique_ptr<ByteSource> owned = nullptr)
      : owned_(std::move(owned)), source_(source), head_(std::move(head)) {}

  std::size_t read(char* out, std::size_t size) override {
    if (!head_) return source_.read(out, size);
    const std::size_t part = std::min(size, head_->bytes().size());
    if (part == 0) {  // all of the head is used
      const bool ended = head_->ended();
      head_.reset();
      return ended ? 0 : source_.read(out, size);
    }
    std::memcpy(out, head_->bytes().data(), part);
    head_->consume(part);
    return part;
  }

 private:
  std::unique_ptr<ByteSource> owned_;
  ByteSource& source_;
  std::unique_ptr<Buffered> head_;
};

class Unpacked final : public ByteSource {
 public:
  Unpacked(std::unique_ptr<Buffered> input, const Format& format, std::string name)
      : input_(std::move(input)), format_(format), codec_(format.codec()), name_(std::move(name)) {}

  std::size_t read(char* out, std::size_t size) override {
    while (true) {
      Codec::Step done;
      try {
        done = codec_->step(input_->bytes(), out, size, input_->ended());
      } catch (const Damage& damage) {
        throw InputError(str_cat(name_, ": is a damaged ", format_.name, " archive: ", damage.reason));
      }
      input_->consume(done.consumed);
      if (done.produced > 0) return done.produced;
      if (done.consumed > 0) continue;
      if (input_->ended()) {
        LONGSPAN_CHECK(codec_->complete() && input_->bytes().empty(), name_, ": ends in the middle of a ", format_.name,
                       " archive");
        return 0;
      }
      input_->fill();
    }
  }

 private:
  std::unique_ptr<Buffered> input_;
  const Format& format_;
  std::unique_ptr<Codec> codec_;
  std::string name_;
};

}  // namespace

std::unique_ptr<ByteSource> unpacked(ByteSource& source, const std::string& name) {
  auto packed = std::make_unique<Buffered>(source);
  const Format* format = recognise(packed->head());
  refuse_unread(format, name);
  check_ending(name, format, packed->head().empty());
  if (!format) return std::make_unique<Plain>(source, std::move(packed));
  auto content = std::make_unique<Unpacked>(std::move(packed), *format, name);
  auto head = std::make_unique<Buffered>(*content);
  refuse_unread(recognise(head->head()), name);  // .tar.gz
  ByteSource& inner = *content;
  return std::make_unique<Plain>(inner, std::move(head), std::move(content));
}

bool may_be_packed(std::string_view head, const std::string& name) {
  const Format* format = recognise(head);
  check_ending(name, format, head.empty());
  return format != nullptr;
}

Packing packing_of(std::string_view head) {
  bool more = head.empty() || (head.size() < 4 && begins_skippable_zstd(head));
  for (const Format& format : kFormats) {
    if (format.offset > 0) continue;
    if (head.starts_with(format.magic)) return Packing::some;
    more = more || format.magic.starts_with(head);
  }
  return is_skippable_zstd(head) ? Packing::some : more ? Packing::undecided : Packing::none;
}

}  // namespace longspan
