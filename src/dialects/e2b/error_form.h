// E2B's error form: {"code","message"}, where the code is the HTTP status as a number. Used by
// every route but those of the Connect protocol (envd/connect.h), which have codes of their own.
#pragma once

#include <string_view>

#include "base/error.h"
#include "http/message.h"

namespace glovebox::e2b {

http::Response refusal(int status, std::string_view message);
// With the status of the error's code (http/status.h).
http::Response refusal(const Error& error);

// As http::ErrorForm: `refused` has a Problem; its headers (Retry-After, WWW-Authenticate) stay.
// `error` is what the handler returned; null: nothing.
http::Response error_form(const http::Response& refused, const Error* error);

}  // namespace glovebox::e2b
