// One JSON object of a request, field by field. A mistake names the field by its path
// ("profile.memory_mb"), and an unknown field is an error too.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::wire {

class ObjectReader {
 public:
  // `value` outlives the reader. `path` is empty for the whole document.
  static Result<ObjectReader> open(const boost::json::value& value, std::string path);

  // Each takes one field; absent and null are the same and give nothing.
  const boost::json::value* take(std::string_view name);
  Result<std::optional<std::string>> text(std::string_view name, std::size_t max_bytes);
  Result<std::optional<bool>> truth(std::string_view name);
  // A whole number, also when written as 5.0.
  Result<std::optional<std::uint64_t>> whole(std::string_view name, std::uint64_t low,
                                             std::uint64_t high);
  Result<std::optional<double>> number(std::string_view name, double low, double high);
  Result<std::vector<std::string>> texts(std::string_view name, std::size_t max_count,
                                         std::size_t max_bytes);

  // After the last take: nothing else may be there.
  Result<> finish() const;

  std::string path_of(std::string_view name) const;
  tl::unexpected<Error> bad(std::string_view name, std::string_view why) const;

 private:
  ObjectReader(const boost::json::object& object, std::string path)
      : object_(&object), path_(std::move(path)) {}

  const boost::json::object* object_;
  std::string path_;
  std::vector<std::string_view> known_;
};

// A string of a request that becomes an argument, a name or a value of the kernel's.
Result<> check_no_nul(std::string_view text, const std::string& path);

}  // namespace glovebox::wire
