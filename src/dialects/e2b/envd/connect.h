// The Connect protocol as E2B's clients use it: POST, JSON only; one message is answered by one
// message or by a stream of messages. A stream always has status 200 and ends with an envelope that
// says how it ended.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "base/task.h"
#include "http/message.h"

namespace glovebox::e2b {

enum class Code : std::uint8_t {
  kCanceled,
  kUnknown,
  kInvalidArgument,
  kDeadlineExceeded,
  kNotFound,
  kAlreadyExists,
  kPermissionDenied,
  kResourceExhausted,
  kFailedPrecondition,
  kUnimplemented,
  kInternal,
  kUnavailable,
  kUnauthenticated,
};

struct ConnectError {
  Code code = Code::kInternal;
  std::string message;
};

std::string_view code_name(Code code);  // "not_found"
int code_status(Code code);             // 404; of a single response
// By the errno of the sandbox's file helper where there is one, else by the error's code.
ConnectError failure_of(const Error& error);

// The one message of a request, with or without an envelope. kInvalidArgument: not a JSON object,
// or a malformed envelope.
Result<boost::json::object> read_message(const http::Request& request);
bool has_envelope(const http::Request& request);
Result<boost::json::object> read_message(std::string_view body, bool has_envelope);

http::Response message_response(const boost::json::object& message);
http::Response failure_response(const ConnectError& failure);

// The response to a streaming call. Every send waits until the kernel has taken the bytes; false:
// the client is gone.
class MessageStream {
 public:
  explicit MessageStream(http::ResponseWriter& writer) : writer_(writer) {}

  asio::awaitable<bool> begin();
  asio::awaitable<bool> send(boost::json::object message);
  // One of the two ends the stream; without it the client considers the stream broken.
  asio::awaitable<bool> finish();
  asio::awaitable<bool> fail(ConnectError failure);

 private:
  http::ResponseWriter& writer_;
};

inline constexpr std::size_t kEnvelopeHead = 5;  // flags, and the length in four bytes
inline constexpr std::uint8_t kEndOfStream = 2;  // a flag
std::string envelope(std::string_view payload, std::uint8_t flags);

}  // namespace glovebox::e2b
