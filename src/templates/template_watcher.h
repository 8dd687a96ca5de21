// Tells of templates that change: a runtime that became ready, one that failed, one that is gone.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "routing/app.h"

namespace glovebox::templates {

// Looks once a second until `app.stopping`; spawn it once.
boost::asio::awaitable<void> watch_templates(routing::App& app);

// A server that has just been started learns of templates in a moment, from its launcher.
boost::asio::awaitable<void> wait_for_templates(routing::App& app);

}  // namespace glovebox::templates
