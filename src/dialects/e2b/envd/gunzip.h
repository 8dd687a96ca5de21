// Decompresses a body that was sent with Content-Encoding: gzip, piece by piece. The output goes to
// a sandbox's disk, which bounds it.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>

#include "http/message.h"

namespace glovebox::e2b {

class GunzipBody final : public http::BodyStream {
 public:
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 30;

  explicit GunzipBody(http::BodyStream& packed);  // borrowed; outlives this
  ~GunzipBody() override;
  GunzipBody(const GunzipBody&) = delete;
  GunzipBody& operator=(const GunzipBody&) = delete;

  // kInvalidArgument: not gzip, incomplete, or larger than kMaxBytes.
  asio::awaitable<Result<std::size_t>> read_some(char* into, std::size_t size) override;
  void cancel() override { packed_.cancel(); }

 private:
  Result<std::size_t> inflate_some(char* into, std::size_t size);

  http::BodyStream& packed_;
  std::string input_;
  z_stream stream_{};
  bool is_ready_ = false;
  bool in_member_ = false;  // a member has begun and not ended
  bool any_ = false;
  std::uint64_t total_ = 0;
};

}  // namespace glovebox::e2b
