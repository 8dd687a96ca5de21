#include "http/target.h"

#include <algorithm>

#include "base/percent_encoding.h"
#include "http/ascii.h"

namespace glovebox::http {

namespace {

Result<Params> parse_query(std::string_view text) {
  Params params;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    TRY(std::string name, percent_decode(pair.substr(0, equals), PlusSign::kSpace));
    TRY(std::string value,
        percent_decode(pair.substr(std::min(equals + 1, pair.size())), PlusSign::kSpace));
    params.add(std::move(name), std::move(value));
  }
  return params;
}

}  // namespace

Result<Target> parse_target(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7F || c == '#') {
      return fail(Errc::kInvalidArgument, "invalid character in the URL");
    }
  }
  Target target;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!text.starts_with(scheme)) continue;
    text.remove_prefix(scheme.size());
    const std::size_t end = std::min(text.find_first_of("/?"), text.size());
    target.host = text.substr(0, end);
    if (target.host.empty()) return fail(Errc::kInvalidArgument, "the URL has no host");
    text.remove_prefix(end);
    break;
  }
  const std::size_t question = std::min(text.find('?'), text.size());
  target.raw_path = text.substr(0, question);
  if (target.raw_path.empty() && !target.host.empty()) target.raw_path = "/";
  if (!target.raw_path.starts_with('/') && text != "*") {
    return fail(Errc::kInvalidArgument, "the path does not begin with /");
  }
  TRY(target.path, percent_decode(target.raw_path));
  if (target.path.find('\0') != std::string::npos) {
    return fail(Errc::kInvalidArgument, "NUL character in the path");
  }
  TRY(target.query, parse_query(text.substr(std::min(question + 1, text.size()))));
  return target;
}

}  // namespace glovebox::http
