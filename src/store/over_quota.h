// The error of a project that has used its share of the store. It is the project's matter and no
// failure of the store.
#pragma once

#include <cerrno>
#include <string>
#include <utility>

#include "base/error.h"

namespace glovebox::store {

// No other error of a store has this number.
inline Error over_quota_error(std::string message) {
  return Error(Errc::kResourceExhausted, std::move(message), EDQUOT);
}

inline bool is_over_quota(const Error& error) {
  return error.code() == Errc::kResourceExhausted && error.sys_errno() == EDQUOT;
}

}  // namespace glovebox::store
