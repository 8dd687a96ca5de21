// A set of packages is prepared for a request that waits: quietly, or with every word of its build
// told to the client as a live event.
#pragma once

#include <memory>

#include "base/task.h"
#include "control/app.h"
#include "control/dependencies/dependency_book.h"
#include "control/run_output.h"

namespace glovebox::control {

// Errors as DependencyBook::prepare's; kUnsupported: this server has no book.
Task<SetMade> prepare_set(App& app, SetWish wish, std::shared_ptr<node::CancelFlag> cancel);
// The same; `sink` outlives the call. The stream begins with the first word, or with the first sign
// of life after a while. A client that is gone cancels it.
Task<SetMade> prepare_set_aloud(App& app, SetWish wish, std::shared_ptr<node::CancelFlag> cancel,
                                StreamingSink& sink);

}  // namespace glovebox::control
