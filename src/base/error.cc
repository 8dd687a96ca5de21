#include "base/error.h"

#include <cstring>

namespace glovebox {

std::string_view errc_name(Errc code) {
  switch (code) {
    case Errc::kInvalidArgument:
      return "invalid_argument";
    case Errc::kNotFound:
      return "not_found";
    case Errc::kPermissionDenied:
      return "permission_denied";
    case Errc::kPolicy:
      return "policy";
    case Errc::kUnsupported:
      return "unsupported";
    case Errc::kResourceExhausted:
      return "resource_exhausted";
    case Errc::kUnavailable:
      return "unavailable";
    case Errc::kTimeout:
      return "timeout";
    case Errc::kProtocol:
      return "protocol";
    case Errc::kConflict:
      return "wrong_state";
    case Errc::kInternal:
      return "internal";
  }
  return "internal";
}

namespace {

Errc errc_of(int err) {
  switch (err) {
    case EINVAL:
      return Errc::kInvalidArgument;
    case ENOENT:
      return Errc::kNotFound;
    case EACCES:
    case EPERM:
      return Errc::kPermissionDenied;
    case ENOSYS:
    case EOPNOTSUPP:
      return Errc::kUnsupported;
    case ENOSPC:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
      return Errc::kResourceExhausted;
    case EPIPE:
    case ECONNRESET:
    case ECONNREFUSED:
      return Errc::kUnavailable;
    case ETIMEDOUT:
      return Errc::kTimeout;
    default:
      return Errc::kInternal;
  }
}

}  // namespace

Error Error::from_errno(std::string_view call, int err) {
  std::string message(call);
  message += ": ";
  // strerrordesc_np is not affected by the locale and needs no buffer.
  const char* text = ::strerrordesc_np(err);
  message += text != nullptr ? text : "unknown error";
  return Error(errc_of(err), std::move(message), err);
}

Error&& Error::context(std::string_view doing) && {
  message_.insert(0, ": ");
  message_.insert(0, doing);
  return std::move(*this);
}

}  // namespace glovebox
