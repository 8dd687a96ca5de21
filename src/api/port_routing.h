// Requests that are for a port of a sandbox by their Host ("3000-sbid.example.com") or by the
// headers E2b-Sandbox-Id and E2b-Sandbox-Port. They come before any path of ours, need no key, and
// a token where the sandbox's ports are private.
#pragma once

#include <functional>

#include "routing/app.h"
#include "http/router.h"

namespace glovebox::api {

// For http::ServerOptions::route_first.
std::function<const http::Route*(http::Request&)> port_doors(routing::App& app);

}  // namespace glovebox::api
