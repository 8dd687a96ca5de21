// The query parameters of file requests, and the errors of file requests as answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/message.h"

namespace glovebox::routing {

// Reads the parameters of a query one by one; finish() refuses parameters that were not read.
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
  const std::string* text(std::string_view name) { return take(name); }  // null: not given
  Result<> finish() const;

 private:
  const std::string* take(std::string_view name);

  const http::Params& query_;
  std::vector<std::string_view> known_;
};

// An errno of the sandbox's file helper decides the status; other errors get their usual status.
http::Response file_refusal(const Error& error);

}  // namespace glovebox::routing
