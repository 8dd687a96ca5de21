// How the store answers: later, through a callback, on the caller's thread. The store knows
// nothing of event loops; it is given a function that runs a call on one.
#pragma once

#include <functional>

#include "base/result.h"

namespace glovebox::store {

template <class T = void>
using Callback = std::function<void(Result<T>)>;

// Runs the call on the asker's thread, soon; called from the store's thread, so it must be
// thread-safe. With asio: [&ioc](auto call) { asio::post(ioc, std::move(call)); }
using Post = std::function<void(std::function<void()>)>;

}  // namespace glovebox::store
