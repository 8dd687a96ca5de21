#include "guest/agent/files/decompressor.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

namespace glovebox::agent {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kInputBytes = 128 * 1024;
constexpr std::string_view kGzip = "\x1f\x8b"sv;
constexpr std::string_view kZstd = "\x28\xb5\x2f\xfd"sv;
constexpr int kGzipOnly = 16 + MAX_WBITS;  // zlib's way to say: a gzip header and trailer
constexpr int kWindowLog = 27;             // 128 MB, which every zstd accepts by default

tl::unexpected<Error> malformed(const char* what) {
  return fail(
      Error(Errc::kInvalidArgument, std::string("malformed compressed data: ") + what, EINVAL));
}

}  // namespace

// What has been read and not been used.
struct Decompressor::Input {
  explicit Input(Source from) : source(std::move(from)) {}

  std::string_view left() const { return {buffer.data() + at, have - at}; }
  // False at the end.
  Result<bool> fill() {
    if (at == have) at = have = 0;
    TRY(const std::size_t got, source(buffer.data() + have, buffer.size() - have));
    have += got;
    return got > 0;
  }

  Source source;
  std::array<char, kInputBytes> buffer;
  std::size_t at = 0;
  std::size_t have = 0;
};

class Decompressor::Format {
 public:
  virtual ~Format() = default;
  virtual Result<std::size_t> read(Input& input, char* bytes, std::size_t size) = 0;
};

class Decompressor::Plain final : public Format {
 public:
  Result<std::size_t> read(Input& input, char* bytes, std::size_t size) override {
    if (input.left().empty()) TRY_OK(input.fill());
    const std::size_t some = std::min(size, input.left().size());
    std::copy_n(input.left().data(), some, bytes);
    input.at += some;
    return some;
  }
};

class Decompressor::Gzip final : public Format {
 public:
  Gzip() { is_ready_ = ::inflateInit2(&stream_, kGzipOnly) == Z_OK; }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() override {
    if (is_ready_) ::inflateEnd(&stream_);
  }

  Result<std::size_t> read(Input& input, char* bytes, std::size_t size) override {
    if (!is_ready_) return fail(Error(Errc::kResourceExhausted, "gzip: out of memory", ENOMEM));
    for (;;) {
      if (input.left().empty()) {
        TRY(const bool more, input.fill());
        if (!more) return at_end_ ? Result<std::size_t>(0) : malformed("unexpected end of gzip");
      }
      if (at_end_) {
        // Another member, as pigz and others write them.
        if (::inflateReset(&stream_) != Z_OK) return malformed("gzip");
        at_end_ = false;
      }
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.left().data()));
      stream_.avail_in = static_cast<uInt>(input.left().size());
      stream_.next_out = reinterpret_cast<Bytef*>(bytes);
      stream_.avail_out = static_cast<uInt>(size);
      const int outcome = ::inflate(&stream_, Z_NO_FLUSH);
      input.at += input.left().size() - stream_.avail_in;
      if (outcome != Z_OK && outcome != Z_STREAM_END && outcome != Z_BUF_ERROR) {
        return malformed("gzip");
      }
      at_end_ = outcome == Z_STREAM_END;
      const std::size_t made = size - stream_.avail_out;
      if (made > 0) return made;
    }
  }

 private:
  z_stream stream_{};
  bool is_ready_ = false;
  bool at_end_ = false;  // of a member
};

class Decompressor::Zstd final : public Format {
 public:
  Zstd() : context_(::ZSTD_createDCtx()) {
    if (context_ != nullptr) {
      (void)::ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kWindowLog);
    }
  }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;
  ~Zstd() override { ::ZSTD_freeDCtx(context_); }

  Result<std::size_t> read(Input& input, char* bytes, std::size_t size) override {
    if (context_ == nullptr) {
      return fail(Error(Errc::kResourceExhausted, "zstd: out of memory", ENOMEM));
    }
    for (;;) {
      // The decoder may hold more than the last call had room for.
      if (input.left().empty() && !holds_more_) {
        TRY(const bool more, input.fill());
        if (!more) return at_end_ ? Result<std::size_t>(0) : malformed("unexpected end of zstd");
      }
      ZSTD_inBuffer in{input.left().data(), input.left().size(), 0};
      ZSTD_outBuffer out{bytes, size, 0};
      const std::size_t outcome = ::ZSTD_decompressStream(context_, &out, &in);
      if (::ZSTD_isError(outcome) != 0) return malformed("zstd");
      input.at += in.pos;
      at_end_ = outcome == 0;
      holds_more_ = out.pos == out.size && !at_end_;
      if (out.pos > 0) return out.pos;
      holds_more_ = false;
    }
  }

 private:
  ZSTD_DCtx* context_;
  bool at_end_ = false;  // of a frame
  bool holds_more_ = false;
};

Decompressor::Decompressor(Source source) : input_(std::make_unique<Input>(std::move(source))) {}

Decompressor::~Decompressor() = default;

Result<> Decompressor::detect() {
  while (input_->left().size() < kZstd.size()) {
    TRY(const bool more, input_->fill());
    if (!more) break;
  }
  if (input_->left().starts_with(kGzip)) {
    format_ = std::make_unique<Gzip>();
  } else if (input_->left().starts_with(kZstd)) {
    format_ = std::make_unique<Zstd>();
  } else {
    format_ = std::make_unique<Plain>();
  }
  return {};
}

Result<std::size_t> Decompressor::read(char* bytes, std::size_t size) {
  if (!format_) TRY_OK(detect());
  return format_->read(*input_, bytes, size);
}

}  // namespace glovebox::agent
