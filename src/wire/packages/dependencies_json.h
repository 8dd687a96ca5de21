// The packages that a request asks for: a list of specifiers, or an object with the text of a
// requirements file or of a lock file. Nothing in them can be an option of the installer's, a path
// or an address: what is installed comes from the administrator's index and from nowhere else.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/dependencies.h"

namespace glovebox::wire {

// Normalised: specifiers trimmed, sorted, without duplicates; texts without carriage returns and
// without surrounding white space. An error names its place: "profile.dependencies[2]: ...".
Result<Dependencies> read_dependencies(const boost::json::value& value, const std::string& path);

// The inverse of read_dependencies().
boost::json::object dependencies_json(const Dependencies& dependencies);

// One specifier, already trimmed. The error has no path.
Result<> check_package_specifier(std::string_view word);
// A requirements file as pip reads it, line by line: the same splitting, joining and comments.
Result<> check_requirements(std::string_view text);

}  // namespace glovebox::wire
