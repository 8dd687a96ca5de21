// The forms in which clients may present a key: our own ("gbx_" and 40 hex digits), and the same
// digits behind a prefix that the clients of a dialect require. The store knows only the first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace glovebox::routing {

class KeyForms {
 public:
  // `dialect_prefixes` point to constants.
  explicit KeyForms(std::vector<std::string_view> dialect_prefixes);

  // "xyz_0123" -> "gbx_0123" for the prefix of a dialect; any other text is returned unchanged.
  std::string own_form(std::string_view presented) const;
  // By its form only; the key may be revoked, or another server's.
  bool is_key(std::string_view text) const;

 private:
  const std::vector<std::string_view> dialect_prefixes_;
};

}  // namespace glovebox::routing
