// What went wrong, for three readers: `code` for callers that branch (and, later, the HTTP
// status), `message` for people, `sys_errno` for debugging the host.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

namespace glovebox {

enum class Errc : std::uint8_t {
  kInvalidArgument = 1,  // the caller's input is wrong
  kNotFound,
  kPermissionDenied,   // the kernel or a file's mode said no
  kPolicy,             // our own policy said no
  kUnsupported,        // this host cannot do it
  kResourceExhausted,  // full: slices, memory, descriptors
  kUnavailable,        // the other side is gone
  kTimeout,
  kProtocol,  // the other side broke the protocol
  kConflict,  // not in the state it is in
  kInternal,
};

std::string_view errc_name(Errc code);

class [[nodiscard]] Error {
 public:
  Error(Errc code, std::string message, int sys_errno = 0)
      : code_(code), sys_errno_(sys_errno), message_(std::move(message)) {}

  // `call` is what was tried, as a reader would say it: "mount proc".
  static Error from_errno(std::string_view call, int err = errno);

  // Prefixes what we were doing, so that the message reads like a path from the outside in.
  Error&& context(std::string_view doing) &&;

  Errc code() const { return code_; }
  int sys_errno() const { return sys_errno_; }
  const std::string& message() const { return message_; }

 private:
  Errc code_;
  int sys_errno_ = 0;
  std::string message_;
};

}  // namespace glovebox
