// Reading a server's JSON for people: a field that is missing or of another kind is shown as "-",
// never a crash, whoever the server is.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::client {

// An answer that is not of the form that was asked for.
tl::unexpected<Error> unexpected_answer();
Result<boost::json::object> parse_answer(std::string_view body);
// The list of that name, or an error.
Result<boost::json::array> list_in(const boost::json::object& answer, std::string_view name);
// Text, a number or a truth value as text.
std::string shown(const boost::json::object& object, std::string_view name);
// The same of a field in a field: "limits", "max_in_flight".
std::string shown(const boost::json::object& object, std::string_view outer, std::string_view name);

}  // namespace glovebox::client
