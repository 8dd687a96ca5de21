#include "dialects/e2b/envd/gunzip.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

namespace glovebox::e2b {
namespace {

constexpr std::size_t kGzipInput = 64 * 1024;
constexpr std::size_t kGunzipPiece = 256 * 1024;
constexpr int kGzipOnly = 16 + MAX_WBITS;

tl::unexpected<Error> bad_gzip(std::string_view why) {
  return fail(Errc::kInvalidArgument, "the gzip body " + std::string(why));
}

}  // namespace

GunzipBody::GunzipBody(http::BodyStream& packed) : packed_(packed), input_(kGzipInput, '\0') {
  is_ready_ = ::inflateInit2(&stream_, kGzipOnly) == Z_OK;
}

GunzipBody::~GunzipBody() {
  if (is_ready_) ::inflateEnd(&stream_);
}

// Zero: more input is needed.
Result<std::size_t> GunzipBody::inflate_some(char* into, std::size_t size) {
  stream_.next_out = reinterpret_cast<Bytef*>(into);
  stream_.avail_out = static_cast<uInt>(size);
  while (stream_.avail_in > 0 && stream_.avail_out > 0) {
    // A body may consist of several gzip members.
    if (!in_member_ && ::inflateReset(&stream_) != Z_OK) return bad_gzip("cannot be read");
    in_member_ = true;
    any_ = true;
    const int outcome = ::inflate(&stream_, Z_NO_FLUSH);
    if (outcome == Z_STREAM_END) {
      in_member_ = false;
    } else if (outcome != Z_OK) {
      return bad_gzip("is corrupt");
    }
  }
  // Output may be pending in the window when all input is consumed.
  while (in_member_ && stream_.avail_in == 0 && stream_.avail_out > 0) {
    const uInt before = stream_.avail_out;
    const int outcome = ::inflate(&stream_, Z_NO_FLUSH);
    if (outcome == Z_STREAM_END) in_member_ = false;
    if (outcome != Z_OK && outcome != Z_STREAM_END && outcome != Z_BUF_ERROR) {
      return bad_gzip("is corrupt");
    }
    if (stream_.avail_out == before) break;
  }
  const std::size_t got = size - stream_.avail_out;
  total_ += got;
  if (total_ > kMaxBytes) return bad_gzip("is too large when decompressed");
  return got;
}

asio::awaitable<Result<std::size_t>> GunzipBody::read_some(char* into, std::size_t size) {
  if (!is_ready_)
    co_return fail(Errc::kResourceExhausted, "not enough memory to decompress the body");
  if (size == 0) co_return 0;
  size = std::min(size, kGunzipPiece);
  while (true) {
    CO_TRY(const std::size_t got, inflate_some(into, size));
    if (got > 0) {
      // A small input can expand to a large output: other requests run in between.
      co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
      co_return got;
    }
    CO_TRY(const std::size_t more, co_await packed_.read_some(input_.data(), input_.size()));
    if (more == 0) {
      if (in_member_ || !any_) co_return bad_gzip("is incomplete");
      co_return 0;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(more);
  }
}

}  // namespace glovebox::e2b
