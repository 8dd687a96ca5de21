// The address of a server, as people write it.
#include <charconv>

#include "http/client/client.h"

namespace glovebox::http {

std::string Url::authority() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Url> parse_url(std::string_view text) {
  const auto wrong = [&](std::string why) {
    return fail(Errc::kInvalidArgument, "\"" + std::string(text) + "\": " + std::move(why));
  };
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.tls = true;
    url.port = 443;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return wrong("a server's address must begin with http:// or https://");
  }
  for (const char c : rest) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7F || c == '@' || c == '?' || c == '#') {
      return wrong("a server's address must not have a user, query or fragment");
    }
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  url.path = rest.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();

  std::size_t host_end = 0;
  if (authority.starts_with('[')) {
    const std::size_t bracket = authority.find(']');
    if (bracket == std::string_view::npos) return wrong("\"[\" without \"]\"");
    url.host = authority.substr(1, bracket - 1);
    if (url.host.find(':') == std::string::npos || url.host.find('[') != std::string::npos) {
      return wrong("\"[...]\" must hold an IPv6 address");
    }
    host_end = bracket + 1;
  } else {
    host_end = std::min(authority.find(':'), authority.size());
    url.host = authority.substr(0, host_end);
  }
  if (url.host.empty()) return wrong("no host");
  authority.remove_prefix(host_end);
  if (authority.empty()) return url;
  const std::string_view digits = authority.substr(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), url.port);
  if (authority[0] != ':' || error != std::errc() || end != digits.data() + digits.size() ||
      url.port == 0) {
    return wrong("not a port");
  }
  return url;
}

}  // namespace glovebox::http
