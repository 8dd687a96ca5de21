// A body that was sent with Content-Encoding: gzip, as what it was before. What comes out goes into
// a sandbox's own disk, which bounds it; no more than a piece of it is ever here.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>

#include "http/message.h"

namespace glovebox::e2b {

class GunzipBody final : public http::BodyStream {
 public:
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 30;

  explicit GunzipBody(http::BodyStream& packed);  // which outlives this
  ~GunzipBody() override;
  GunzipBody(const GunzipBody&) = delete;
  GunzipBody& operator=(const GunzipBody&) = delete;

  // kInvalidArgument: this is not gzip, not whole, or without end.
  asio::awaitable<Result<std::size_t>> read_some(char* into, std::size_t size) override;
  void cancel() override { packed_.cancel(); }

 private:
  Result<std::size_t> inflate_some(char* into, std::size_t size);

  http::BodyStream& packed_;
  std::string input_;
  z_stream stream_{};
  bool is_ready_ = false;
  bool in_member_ = false;  // one has begun and not ended
  bool any_ = false;
  std::uint64_t total_ = 0;
};

}  // namespace glovebox::e2b
