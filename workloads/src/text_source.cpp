// SPDX-License-Identifier: Apache-2.0
#include "text_source.hpp"

#include <lzma.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"

namespace farfault::workloads {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr std::uint64_t kXzMemory = 256ULL << 20;

enum class Coding { plain, gzip, xz };

}  // namespace

struct TextSource::Impl {
  std::string path;
  ByteSize max_unpacked;
  std::FILE* file = nullptr;
  std::array<unsigned char, kChunk> raw{};
  std::size_t raw_size = 0;  // valid bytes of raw
  std::size_t raw_at = 0;    // next unused byte
  bool raw_end = false;
  std::uint64_t raw_bytes = 0;
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  std::uint64_t text_bytes = 0;
  Coding coding = Coding::plain;
  bool text_end = false;
  z_stream gzip{};
  lzma_stream xz = LZMA_STREAM_INIT;

  Impl(std::string name, ByteSize limit) : path(std::move(name)), max_unpacked(limit) {}
  Impl(Impl const&) = delete;
  Impl& operator=(Impl const&) = delete;
  ~Impl() {
    if (coding == Coding::gzip) inflateEnd(&gzip);
    if (coding == Coding::xz) lzma_end(&xz);
    if (file != nullptr) std::fclose(file);
  }

  [[noreturn]] void fail(std::string const& what) const { throw UserError(one_line(path) + ": " + what); }

  void open() {
    auto input = open_input(path);
    if (!input.why_not.empty()) fail(input.why_not);
    file = ::fdopen(input.file.get(), "rb");
    if (file != nullptr) input.file.release();
    if (file == nullptr) fail(std::string("cannot be opened: ") + std::strerror(errno));
    fill();
    if (raw_size >= 2 && raw[0] == 0x1f && raw[1] == 0x8b) {
      if (inflateInit2(&gzip, 15 + 16) != Z_OK) fail("out of memory for decompression");
      coding = Coding::gzip;
    } else if (raw_size >= 6 && std::memcmp(raw.data(),
                                            "\xfd"
                                            "7zXZ\0",
                                            6) == 0) {
      if (lzma_stream_decoder(&xz, kXzMemory, LZMA_CONCATENATED) != LZMA_OK)
        fail("out of memory for decompression");
      coding = Coding::xz;
    }
  }

  void fill() {
    raw_at = 0;
    raw_size = std::fread(raw.data(), 1, raw.size(), file);
    if (raw_size < raw.size()) {
      if (std::ferror(file) != 0) fail(std::string("cannot be read: ") + std::strerror(errno));
      raw_end = true;
    }
    for (std::size_t i = 0; i < raw_size; ++i) hash = (hash ^ raw[i]) * 0x100000001b3ULL;
    raw_bytes += raw_size;
  }

  std::size_t read_plain(char* out, std::size_t size) {
    std::size_t done = 0;
    while (done < size) {
      if (raw_at == raw_size) {
        if (raw_end) break;
        fill();
        continue;
      }
      auto const n = std::min(size - done, raw_size - raw_at);
      std::memcpy(out + done, raw.data() + raw_at, n);
      raw_at += n;
      done += n;
    }
    return done;
  }

  std::size_t read_gzip(char* out, std::size_t size) {
    gzip.next_out = reinterpret_cast<Bytef*>(out);
    gzip.avail_out = static_cast<uInt>(size);
    while (gzip.avail_out > 0 && !text_end) {
      if (raw_at == raw_size) {
        if (raw_end) fail("the gzip stream ends before its end mark; the file is truncated");
        fill();
        continue;
      }
      gzip.next_in = raw.data() + raw_at;
      gzip.avail_in = static_cast<uInt>(raw_size - raw_at);
      auto const status = inflate(&gzip, Z_NO_FLUSH);
      raw_at = raw_size - gzip.avail_in;
      if (status == Z_STREAM_END) {
        if (raw_at == raw_size && !raw_end) fill();
        // A gzip file may hold several consecutive streams; any other data after a stream is padding.
        if (raw_at < raw_size && raw[raw_at] == 0x1f) {
          inflateReset(&gzip);
        } else {
          text_end = true;
        }
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        fail(std::string("the gzip stream is corrupt: ") + (gzip.msg != nullptr ? gzip.msg : "bad data"));
      }
    }
    return size - gzip.avail_out;
  }

  std::size_t read_xz(char* out, std::size_t size) {
    xz.next_out = reinterpret_cast<std::uint8_t*>(out);
    xz.avail_out = size;
    while (xz.avail_out > 0 && !text_end) {
      if (raw_at == raw_size && !raw_end) fill();
      xz.next_in = raw.data() + raw_at;
      xz.avail_in = raw_size - raw_at;
      auto const status = lzma_code(&xz, raw_end ? LZMA_FINISH : LZMA_RUN);
      raw_at = raw_size - xz.avail_in;
      if (status == LZMA_STREAM_END) {
        text_end = true;
      } else if (status == LZMA_BUF_ERROR) {
        fail("the xz stream ends before its end mark; the file is truncated");
      } else if (status == LZMA_MEMLIMIT_ERROR) {
        fail("the xz stream needs more than 256 MiB to decompress");
      } else if (status != LZMA_OK) {
        fail("the xz stream is corrupt");
      }
    }
    return size - xz.avail_out;
  }
};

TextSource::TextSource(std::string path, InputLimits const& limits)
    : impl_(std::make_unique<Impl>(std::move(path), limits.of_this_machine().unpacked)) {
  impl_->open();
}

TextSource::~TextSource() = default;
TextSource::TextSource(TextSource&&) noexcept = default;

std::size_t TextSource::read(char* out, std::size_t size) {
  auto& s = *impl_;
  std::size_t done = 0;
  switch (s.coding) {
    case Coding::plain:
      done = s.read_plain(out, size);
      break;
    case Coding::gzip:
      done = s.read_gzip(out, size);
      break;
    case Coding::xz:
      done = s.read_xz(out, size);
      break;
  }
  s.text_bytes += done;
  if (s.coding != Coding::plain && s.text_bytes > s.max_unpacked.bytes)
    s.fail("decompresses to more text than " + limit_text("unpacked", s.max_unpacked));
  return done;
}

InputFile TextSource::finish() {
  auto& s = *impl_;
  while (!s.raw_end) s.fill();
  return {s.path, s.raw_bytes, s.hash};
}

std::string const& TextSource::path() const {
  return impl_->path;
}

}  // namespace farfault::workloads
