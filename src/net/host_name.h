// A name of the DNS in one form: lower case, no dot at its end, letters, digits, '-' and '_' in
// labels of at most 63 bytes, 253 in all. Never something that an inet_aton() would take for an
// address ("127.1", "0x7f000001", "2852039166"), never a name of one label that is only digits.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::net {

class HostName {
 public:
  // Takes upper case and one dot at the end. Non-ASCII is refused with a word about xn--.
  static Result<HostName> parse(std::string_view text);
  const std::string& str() const { return text_; }
  // Below `domain`, at any depth; a name is not below itself.
  bool is_below(const HostName& domain) const;
  auto operator<=>(const HostName&) const = default;

 private:
  explicit HostName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace glovebox::net
