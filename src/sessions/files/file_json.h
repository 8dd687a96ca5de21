// Files of a sandbox in requests and answers: paths of any bytes, owners, modes, directory entries.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "wire/guest/file_records.h"
#include "wire/guest/session_frames.h"
#include "wire/json/object_reader.h"

namespace glovebox::sessions {

// A path of any bytes but NUL; "name" or "name:group"; octal digits. kInvalidArgument names the
// parameter.
Result<std::string> check_path(std::string path, std::string_view name);
Result<std::string> check_owner(std::string_view text, std::string_view name);
Result<std::uint32_t> check_mode(std::string_view text, std::string_view name);

// The same from the fields of an object; the names must outlive the reader.
Result<std::string> read_path(wire::ObjectReader& fields, std::string_view name,
                              std::string_view name_base64);
Result<std::string> read_owner(wire::ObjectReader& fields, std::string_view name);
Result<std::optional<std::uint32_t>> read_mode(wire::ObjectReader& fields, std::string_view name);

// `name` as text and, when it is not UTF-8, also `name`_base64 with the exact bytes.
void add_path(boost::json::object& object, const std::string& name, const std::string& bytes);
// "/a" and "b" give "/a/b"; an empty second part gives the directory itself.
std::string path_below(std::string_view directory, std::string_view below);
std::string_view last_name(std::string_view path);
std::string mode_text(std::uint32_t mode);  // "0644"

boost::json::object entry_json(const wire::FileEntry& entry, const std::string& path);
// The record that a helper sends, prefixed with its length. kProtocol when it is malformed.
Result<wire::FileEntry> entry_of(std::string_view record);

}  // namespace glovebox::sessions
