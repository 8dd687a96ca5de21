#include "net/host_name.h"

#include <algorithm>

#include "base/hex.h"

namespace glovebox::net {
namespace {

constexpr std::size_t kMaxName = 253;
constexpr std::size_t kMaxLabel = 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Everything that some inet_aton() takes for an address ends in a label like this, and no
// top-level domain does.
bool is_number(std::string_view label) {
  if (label.starts_with("0x")) return is_lower_hex(label.substr(2));
  return std::all_of(label.begin(), label.end(), is_digit);
}

}  // namespace

Result<HostName> HostName::parse(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.empty()) return fail_invalid("the name is empty");
  if (text.size() > kMaxName) return fail_invalid("a name may have at most 253 bytes");
  std::string name(text);
  for (char& c : name) {
    if (static_cast<unsigned char>(c) >= 0x80) {
      return fail_invalid("not ASCII: write an international name in its xn-- form");
    }
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool is_known = is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.';
    if (!is_known)
      return fail_invalid("a name may only contain letters, digits, '-', '_' and dots");
  }
  std::string_view rest = name;
  while (true) {
    const std::string_view label = rest.substr(0, rest.find('.'));
    if (label.empty()) return fail_invalid("a name must not have an empty label");
    if (label.size() > kMaxLabel)
      return fail_invalid("a label of a name may have at most 63 bytes");
    if (label.size() == rest.size()) {
      if (is_number(label)) {
        return fail_invalid(
            "the last label of a name must not be a number: an IPv4 address has four decimal "
            "numbers");
      }
      return HostName(std::move(name));
    }
    rest.remove_prefix(label.size() + 1);
  }
}

bool HostName::is_below(const HostName& domain) const {
  const std::string& above = domain.text_;
  return text_.size() > above.size() + 1 && text_.ends_with(above) &&
         text_[text_.size() - above.size() - 1] == '.';
}

}  // namespace glovebox::net
