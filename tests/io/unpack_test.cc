#include "longspan/io/unpack.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <random>

#include "longspan/io/text_file.h"
#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

/// Bytes from memory, a few at a time.
class Bytes final : public ByteSource {
 public:
  explicit Bytes(std::string content, std::size_t most = 1000) : content_(std::move(content)), most_(most) {}
  std::size_t read(char* out, std::size_t size) override {
    const std::size_t part = std::min({size, most_, content_.size() - at_});
    std::memcpy(out, content_.data() + at_, part);
    at_ += part;
    return part;
  }

 private:
  std::string content_;
  std::size_t most_, at_ = 0;
};

std::string gzip(const std::string& text) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = text.size();
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = out.size();
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string xz(const std::string& text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  lzma_easy_buffer_encode(0, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                          reinterpret_cast<uint8_t*>(out.data()), &size, out.size());
  out.resize(size);
  return out;
}

std::string zstd(const std::string& text) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

struct Packer {
  const char* name;
  const char* ending;
  std::string (*pack)(const std::string&);
};
constexpr Packer kPackers[] = {{"gzip", ".gz", gzip}, {"xz", ".xz", xz}, {"zstd", ".zst", zstd}};

/// Everything, in pieces of `piece` bytes.
std::string content_of(const std::string& packed, const std::string& name = "some.file", std::size_t piece = 777,
                       std::size_t arriving = 1000) {
  Bytes source(packed, arriving);
  const auto text = unpacked(source, name);
  std::string out(piece, '\0'), all;
  while (const std::size_t got = text->read(out.data(), piece)) all.append(out, 0, got);
  EXPECT_EQ(text->read(out.data(), piece), 0u) << "the end stays the end";
  return all;
}

std::string text_of(std::size_t size) {
  std::mt19937 draw(static_cast<unsigned>(size));
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>('a' + draw() % 7);
  return text;
}

TEST(Unpack, PlainBytesAsTheyAre) {
  for (const std::size_t size : {0, 1, 511, 512, 513, 1000, 300000, 1000000}) {
    const std::string text = text_of(size);
    EXPECT_EQ(content_of(text), text) << size;
    EXPECT_EQ(content_of(text, "a", 1 << 20, 1 << 20), text) << size;
  }
  EXPECT_EQ(content_of("\x1f\x8b"), "\x1f\x8b") << "too short for an archive";
}

TEST(Unpack, EveryFormat) {
  for (const auto& [name, ending, pack] : kPackers)
    for (const std::size_t size : {0, 1, 1000, 1000000}) {
      const std::string text = text_of(size), packed = pack(text);
      EXPECT_EQ(content_of(packed, "any.name"), text) << name << " " << size;
      EXPECT_EQ(content_of(packed, std::string("a") + ending, 1 << 20, 1 << 20), text) << name << " " << size;
      if (size <= 1000) {
        EXPECT_EQ(content_of(packed, "a", 1, 1), text) << name << " " << size;
      }
    }
}

TEST(Unpack, JoinedArchives) {
  const std::string a = text_of(100000), b = text_of(50), c;
  for (const auto& [name, ending, pack] : kPackers) EXPECT_EQ(content_of(pack(a) + pack(c) + pack(b)), a + b) << name;
  EXPECT_EQ(content_of(gzip(a) + std::string(10000, '\0')), a) << "filled up with zeros";
  const std::string skippable("\x53\x2a\x4d\x18\x03\0\0\0abc", 11);
  EXPECT_EQ(content_of(skippable + zstd(a) + skippable), a);
}

TEST(Unpack, EndsTooEarly) {
  const std::string text = text_of(2000);
  for (const auto& [name, ending, pack] : kPackers) {
    const std::string packed = pack(text), twice = packed + packed;
    for (std::size_t size = 8; size < twice.size(); size += 7) {
      if (size == packed.size()) continue;
      EXPECT_EQ(error_of([&] { content_of(twice.substr(0, size)); }),
                std::string("some.file: ends in the middle of a ") + name + " archive")
          << size << " of " << twice.size();
    }
  }
}

TEST(Unpack, DamageNeverPassesAsText) {
  const std::string text = text_of(300);
  for (const auto& [name, ending, pack] : kPackers) {
    const std::string packed = pack(text);
    for (std::size_t at = 0; at < packed.size(); ++at)
      for (const char flip : {'\x01', '\x80'}) {
        std::string damaged = packed;
        damaged[at] = static_cast<char>(damaged[at] ^ flip);
        std::string got;
        const std::string message = error_of([&] { got = content_of(damaged, std::string("a") + ending); });
        // A bit of the header that says nothing about the content (the time of gzip) may pass.
        if (message.empty()) {
          EXPECT_EQ(got, text) << name << " byte " << at;
        } else {
          EXPECT_TRUE(message.starts_with(std::string("a") + ending + ": ")) << message;
        }
      }
    EXPECT_NE(error_of([&] { content_of(packed + "rubbish"); }), "") << name;
  }
}

TEST(Unpack, NamesAndFormatsThatAreRefused) {
  EXPECT_EQ(error_of([&] { content_of("just text", "a.gz"); }),
            "a.gz: is named like a gzip archive but does not begin like one");
  EXPECT_EQ(error_of([&] { content_of(gzip("text"), "a.zst"); }),
            "a.zst: is named like a zstd archive but does not begin like one");
  EXPECT_EQ(content_of("", "a.xz"), "");
  const auto refused = [](const std::string& head) { return error_of([&] { content_of(head + text_of(1000), "a"); }); };
  EXPECT_EQ(refused("PK\x03\x04"), "a: is a zip archive, which is not read; unpack it first");
  EXPECT_EQ(refused("BZh91AY&SY"), "a: is a bzip2 archive, which is not read; unpack it first");
  EXPECT_EQ(refused("7z\xbc\xaf\x27\x1c"), "a: is a 7z archive, which is not read; unpack it first");
  const std::string tar = std::string(257, 'x') + "ustar" + text_of(1000);
  EXPECT_EQ(refused(tar), "a: is a tar archive, which is not read; unpack it first");
  EXPECT_EQ(error_of([&] { content_of(gzip(tar), "a"); }), "a: is a tar archive, which is not read; unpack it first");
}

TEST(Unpack, AFewBytesSayWhatAStreamIs) {
  EXPECT_EQ(packing_of(""), Packing::undecided);
  const std::string skippable = "\x5a\x2a\x4d\x18";
  for (const std::string& packed : {gzip("text"), xz("text"), zstd("text"), skippable, std::string("PK\x03\x04")}) {
    std::size_t needed = 0;
    while (packing_of(packed.substr(0, needed)) == Packing::undecided) ++needed;
    EXPECT_LE(needed, 6u);
    EXPECT_EQ(packing_of(packed.substr(0, needed)), Packing::some);
    EXPECT_EQ(packing_of(packed), Packing::some);
    // One bit away from the mark it is nothing, as soon as that is seen.
    std::string other = packed.substr(0, needed);
    other.back() = static_cast<char>(other.back() ^ 0x80);
    EXPECT_EQ(packing_of(other), Packing::none);
  }
  for (const char* plain : {"a", "It was", "(b", "PS", "7a", "\n", "\xff"})
    EXPECT_EQ(packing_of(plain), Packing::none) << plain;
  for (const char* first : {"(", "P", "7"}) EXPECT_EQ(packing_of(first), Packing::undecided) << first;
}

using MapTextTest = ScratchFolder;

TEST_F(MapTextTest, TheContentOfAnArchiveAndOtherFilesAsTheyLie) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i * 7919 % 10007);
  const auto content = [](const MappedFile& file) {
    return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  };
  EXPECT_EQ(content(map_text(put("plain", text))), text);
  EXPECT_EQ(content(map_text(put("empty", ""))), "");
  int calls = 0;
  for (const Packer& packer : kPackers) {
    const MappedFile file = map_text(put("packed", packer.pack(text)), [&] { ++calls; });
    EXPECT_EQ(content(file), text) << packer.name;
    EXPECT_EQ(file.path(), path("packed"));
  }
  EXPECT_GT(calls, 3);
  EXPECT_EQ(error_of([&] { map_text(put("cut.gz", gzip(text).substr(0, 1000))); }),
            path("cut.gz") + ": ends in the middle of a gzip archive");
  EXPECT_EQ(error_of([&] { map_text(put("text.gz", text)); }),
            path("text.gz") + ": is named like a gzip archive but does not begin like one");
}

}  // namespace
}  // namespace longspan
