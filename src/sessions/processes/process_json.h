// The words that exec, streams, processes and contexts share: signals by name, output as JSON, a
// process as clients see it.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/message.h"
#include "node/sessions/session_service.h"
#include "wire/json/object_reader.h"

namespace glovebox::sessions {

// "TERM", "SIGTERM", "sigterm", "15", "RTMIN+1". Nothing: there is no such signal.
std::optional<int> parse_signal(std::string_view word);
// Of a field that is a name or a number.
Result<int> read_signal(wire::ObjectReader& fields, std::string_view name);
// "SIGTERM"
std::string signal_name(int signal);

// "NAME=value" of an object of strings, no name twice.
Result<std::vector<std::string>> read_environment(wire::ObjectReader& fields,
                                                  std::string_view name);
// Later words win over earlier ones of the same name.
std::vector<std::string> joined_environment(std::vector<std::string> base,
                                            const std::vector<std::string>& more);
// A name or a number of the guest's passwd; the guest decides whether there is one.
Result<std::string> read_user(wire::ObjectReader& fields, std::string_view name);
// Absolute, any bytes but NUL.
Result<std::optional<std::string>> read_directory(wire::ObjectReader& fields,
                                                  std::string_view name);
// `stem` as text or `stem`_base64 as bytes, or neither.
Result<std::optional<std::string>> read_bytes(wire::ObjectReader& fields, std::string_view stem);

// Of a session's user, in front of its PATH; root's has it not.
inline constexpr std::string_view kUsersPrograms = "/home/user/.local/bin";
std::string home_of(std::string_view user);
// With the names of whoever it is for, unless the caller said otherwise.
std::vector<std::string> environment_for(std::string_view user, std::vector<std::string> base,
                                         const std::vector<std::string>& more);

// Beside `name`, when it is not text, `name`_base64 with the very bytes.
void add_output(boost::json::object& object, const std::string& name, const std::string& bytes);
// {"data": ...} or {"data_base64": ...}
void add_data(boost::json::object& object, std::string_view bytes);

// 128 + n for a signal.
int exit_code_of(const wire::ProcessEnd& end);
boost::json::object process_json(const node::ProcessInfo& process);

// A whole number of the query, or `otherwise` when it is not there.
Result<std::uint64_t> query_number(const http::Request& request, std::string_view name,
                                   std::uint64_t low, std::uint64_t high, std::uint64_t otherwise);

}  // namespace glovebox::sessions
