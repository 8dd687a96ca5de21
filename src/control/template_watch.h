// Tells of templates that change: a runtime that became ready, one that failed, one that is gone.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "control/app.h"

namespace glovebox::control {

// Looks once a second until `app.stopping`; spawn it once.
boost::asio::awaitable<void> watch_templates(App& app);

// A server that has just been started learns of templates in a moment, from its launcher.
boost::asio::awaitable<void> wait_for_templates(App& app);

}  // namespace glovebox::control
