// Fields of a server's JSON response, as text for a terminal. The server is not trusted: a field
// that is missing or has an unexpected type becomes "-".
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::client {

Result<boost::json::object> parse_response(std::string_view body);
// kProtocol: there is no array of that name.
Result<boost::json::array> array_field(const boost::json::object& answer, std::string_view name);
// A string, number, boolean, array or object as text; "-" if it is missing, null or empty.
std::string field_text(const boost::json::object& object, std::string_view name);
// The same for a nested field, such as "limits", "max_in_flight".
std::string field_text(const boost::json::object& object, std::string_view outer,
                       std::string_view name);
// A number that is not negative; 0 if there is none.
std::uint64_t number_field(const boost::json::object& object, std::string_view name);
// Only if the field is a string; else empty.
std::string string_field(const boost::json::object& object, std::string_view name);

// kProtocol: the response does not have the form that the API promises.
tl::unexpected<Error> unexpected_response();

}  // namespace glovebox::client
