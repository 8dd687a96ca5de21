// What `glovebox run` says at the end of a run on a server: the same words and the same exit status
// as when it runs here.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "base/error.h"

namespace glovebox::client {

// The exit status in an answer, or that of a failure of ours when it has none.
int exit_code_of(const boost::json::object& answer);

// "the time limit was reached" and its like, one line each; empty when there is nothing to say.
std::string remarks(const boost::json::object& answer);

// The answer on one line, without the files, which were copied out.
std::string answer_text(const boost::json::object& answer);
// {"exit_code":125,...,"error":{"code","message"},...}: what a failure looks like with --json.
std::string failure_text(const std::string& code, const Error& error);

}  // namespace glovebox::client
