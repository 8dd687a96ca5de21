// The words that the file routes share: paths of any bytes in a query or an object, an entry as
// clients see it, and what a helper's errno is as an answer.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "http/message.h"
#include "wire/guest/file_records.h"
#include "wire/guest/session_frames.h"
#include "wire/json/object_reader.h"

namespace glovebox::sessions {

// A request's query, name by name; a name that nobody asked for is a mistake.
class FileQuery {
 public:
  explicit FileQuery(const http::Params& query) : query_(query) {}

  Result<std::string> path();  // `path`, or `path_base64`; never empty
  Result<std::string> user();
  Result<std::string> owner();  // "name" or "name:group"; empty: not given
  Result<std::optional<std::uint32_t>> mode();
  Result<bool> truth(std::string_view name, bool otherwise);
  Result<std::uint64_t> whole(std::string_view name, std::uint64_t low, std::uint64_t high,
                              std::uint64_t otherwise);
  const std::string* text(std::string_view name) { return take(name); }  // null: not there
  Result<> finish() const;

 private:
  const std::string* take(std::string_view name);

  const http::Params& query_;
  std::vector<std::string_view> known_;
};

// The same of a body's object; the names outlive the reader.
Result<std::string> read_path(wire::ObjectReader& fields, std::string_view name,
                              std::string_view name_base64);
Result<std::string> read_owner(wire::ObjectReader& fields, std::string_view name);
Result<std::optional<std::uint32_t>> read_mode(wire::ObjectReader& fields, std::string_view name);

// `name` as text and, when it is not UTF-8, `name`_base64 with the very bytes.
void add_path(boost::json::object& object, const std::string& name, const std::string& bytes);
// "/a" and "b" are "/a/b"; nothing below is the directory itself.
std::string path_below(std::string_view directory, std::string_view below);
std::string_view last_name(std::string_view path);
std::string mode_text(std::uint32_t mode);  // "0644"

boost::json::object entry_json(const wire::FileEntry& entry, const std::string& path);
// The record that a helper gives, with its length in front. kProtocol when it is none.
Result<wire::FileEntry> entry_of(std::string_view record);

// The helper's own errors by their errno, all others as everywhere.
http::Response file_problem(const Error& error);

}  // namespace glovebox::sessions
