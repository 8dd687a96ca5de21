// Reads one request out of bytes as they come; the parser is Beast's, the limits are ours. What
// another server might read differently (two lengths, an unknown transfer coding, two Hosts) is
// refused, so that no proxy before us can be made to disagree about where a request ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"

namespace glovebox::http {

class RequestReader {
 public:
  explicit RequestReader(std::size_t max_header_bytes);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  enum class Step : std::uint8_t {
    kNeedMore,
    kDone,
    kMalformed,
    kHeaderTooLarge,
    kBodyTooLarge,
  };
  // Until kDone: bytes of the header. `used` says how many were taken; the rest comes again, with
  // more behind it.
  Step read_head(std::string_view bytes, std::size_t& used);
  bool has_started() const;
  // Then: bytes of the body, until kDone. May be called with nothing.
  Step read_body(std::string_view bytes, std::size_t& used);

  // After the header. Trailers of a chunked body are read and dropped.
  // False: a header that is well formed and yet cannot be served; the reason is for the client.
  bool fill_head(Request& request, std::string& raw_path, std::string& reason) const;
  bool keep_alive() const;
  bool is_http_1_0() const;
  bool has_body() const;
  std::optional<std::uint64_t> content_length() const;  // not of chunked bodies

  void limit_body(std::size_t bytes);
  std::size_t body_size() const;  // so far
  std::string take_body();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace glovebox::http
