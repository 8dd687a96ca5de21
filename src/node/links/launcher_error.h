// The error of a launcher that is gone, that does not answer, or that has not reported yet. Answers
// over HTTP have a code of their own for it (routing/refusals.cc). It is recognized by its errno,
// which is kept when the message gets more context.
#pragma once

#include <cerrno>
#include <string>
#include <utility>

#include "base/error.h"

namespace glovebox::node {

inline constexpr int kLauncherDown = EHOSTDOWN;

inline Error launcher_error(std::string message) {
  return Error(Errc::kUnavailable, std::move(message), kLauncherDown);
}

inline bool is_launcher_error(const Error& error) {
  return error.code() == Errc::kUnavailable && error.sys_errno() == kLauncherDown;
}

}  // namespace glovebox::node
