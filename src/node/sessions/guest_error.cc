#include "node/sessions/guest_error.h"

#include <cstring>
#include <string>

#include "base/utf8.h"

namespace glovebox::node {

Errc errc_of_guest(int sys_errno) {
  switch (sys_errno) {
    case ENOENT:
    case ESRCH:
      return Errc::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return Errc::kPermissionDenied;
    case EEXIST:
    case ENOTEMPTY:
    case EBUSY:
      return Errc::kConflict;
    case EINVAL:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENOEXEC:
    case E2BIG:
    case EXDEV:
      return Errc::kInvalidArgument;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
      return Errc::kResourceExhausted;
    case ENOSYS:
    case EOPNOTSUPP:
      return Errc::kUnsupported;
    case EPIPE:
    case ECONNREFUSED:
    case ECONNRESET:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return Errc::kUnavailable;
    case ETIMEDOUT:
      return Errc::kTimeout;
    default:
      return Errc::kInternal;
  }
}

Error guest_error(int sys_errno, std::string_view what) {
  std::string message = printable(what);
  const char* text = ::strerrordesc_np(sys_errno);
  const std::string meaning = text != nullptr ? text : "unknown error";
  if (message.find(meaning) == std::string::npos) {
    message += (message.empty() ? "" : ": ") + meaning;
  }
  return Error(errc_of_guest(sys_errno), std::move(message), sys_errno);
}

}  // namespace glovebox::node
