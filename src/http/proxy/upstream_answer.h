// The head of an answer from a server that we forward to. The parser is Beast's; what two readers
// could take for two different messages (two lengths, a length and chunks, an unknown coding) is
// refused, although we frame the answer anew in any case. Fuzzed in tests/fuzz/upstream_answer.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"

namespace glovebox::http {

struct UpstreamHead {
  int status = 0;
  Headers headers;  // all of them
  enum class Body : std::uint8_t { kNone, kLength, kChunked, kToTheEnd };
  Body body = Body::kNone;
  std::uint64_t length = 0;  // of kLength
};

class UpstreamHeadReader {
 public:
  // `method` decides whether there is a body.
  explicit UpstreamHeadReader(Method method);
  ~UpstreamHeadReader();
  UpstreamHeadReader(const UpstreamHeadReader&) = delete;
  UpstreamHeadReader& operator=(const UpstreamHeadReader&) = delete;

  enum class Step : std::uint8_t { kNeedMore, kDone, kMalformed };
  // `used` bytes were taken; the rest comes again, with more behind it. 100 Continue and the like
  // are skipped; 101 is an answer.
  Step read(std::string_view bytes, std::size_t& used);
  UpstreamHead take();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Removes what is between two neighbours only: Connection and what it names, Keep-Alive, TE,
// Trailer, Transfer-Encoding, Upgrade, Proxy-*; and Content-Length, which goes with the framing.
void remove_hop_by_hop(Headers& headers);

}  // namespace glovebox::http
