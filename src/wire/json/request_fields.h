// Fields that the requests of several routes share: an environment, a user, a directory, bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/json/object_reader.h"

namespace glovebox::wire {

// Of an environment variable: letters, digits and underscores, no digit first.
bool is_variable_name(std::string_view name);

// A name or a number of the guest's passwd; the guest decides whether it exists.
bool is_user_name(std::string_view text);

// "NAME=value" of an object of strings, no name twice.
Result<std::vector<std::string>> read_environment(ObjectReader& fields, std::string_view name);
Result<std::string> read_user(ObjectReader& fields, std::string_view name);
// Absolute, any bytes but NUL.
Result<std::optional<std::string>> read_directory(ObjectReader& fields, std::string_view name);
// `stem` as text or `stem`_base64 as bytes, or neither.
Result<std::optional<std::string>> read_bytes(ObjectReader& fields, std::string_view stem);

}  // namespace glovebox::wire
