// Targets of request lines and hosts: hand-written parsers that any client feeds.
#include <string>
#include <string_view>

#include "base/percent_encoding.h"
#include "fuzz_target.h"
#include "http/client/client.h"
#include "http/origin_rules.h"
#include "http/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto target = http::parse_target(text)) {
    fuzz::promise(target->path.find('\0') == std::string::npos, "a path has no NUL");
    fuzz::promise(target->raw_path == "*" || target->raw_path.front() == '/', "a path is a path");
    fuzz::promise(target->path.size() <= size + 1, "decoding does not grow it");
  }
  fuzz::promise(percent_decode(percent_encode(text)).value() == text, "decoding undoes encoding");
  // With no rules, whatever is allowed is a name of this host.
  if (http::host_allowed({}, text)) {
    fuzz::promise(
        text.find('/') == std::string_view::npos && text.find('@') == std::string_view::npos,
        "an allowed host is nothing but a host");
  }
  if (const auto url = http::parse_url(text)) {
    const auto again =
        http::parse_url((url->tls ? "https://" : "http://") + url->authority() + url->path);
    fuzz::promise(
        again && again->host == url->host && again->port == url->port && again->path == url->path,
        "a URL written out is the same URL");
  }
  return 0;
}
