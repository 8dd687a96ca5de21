// The end of a run on a server, with the same messages and exit status as a local run.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "base/error.h"

namespace glovebox::client {

// The `exit_code` of a response, or 125 if it has none.
int exit_status_of(const boost::json::object& result);

// One line for each limit that was reached; empty if none was.
std::string limit_notes(const boost::json::object& result);

// The response on one line, without the files, which were written already.
std::string run_result_json(const boost::json::object& result);
// What --json prints for a failure: {"exit_code":125,...,"error":{"code","message"},...}.
std::string run_failure_json(const std::string& code, const Error& error);

}  // namespace glovebox::client
