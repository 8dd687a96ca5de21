// A set of packages is prepared for a request that waits: quietly, or with every word of its build
// told to the client as a live event.
#pragma once

#include <memory>

#include "base/task.h"
#include "routing/app.h"
#include "packages/package_service.h"
#include "routing/run_output.h"

namespace glovebox::packages {

// Errors as PackageService::prepare's; kUnsupported: this server has no book.
Task<PreparedPackages> prepare_set(routing::App& app, PackageSetRequest wish, std::shared_ptr<node::CancelFlag> cancel);
// The same; `sink` outlives the call. The stream begins with the first word, or with the first sign
// of life after a while. A client that is gone cancels it.
Task<PreparedPackages> prepare_set_aloud(routing::App& app, PackageSetRequest wish, std::shared_ptr<node::CancelFlag> cancel,
                                routing::StreamingSink& sink);

}  // namespace glovebox::packages
