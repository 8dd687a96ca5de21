#include "client/copy/copy_endpoint.h"

#include <algorithm>

namespace glovebox::client {

namespace {

// An id, the beginning of one, or a name: no '/', and no '.' or '-' in front.
bool may_be_sandbox(std::string_view word) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !word.empty() && is_plain(word.front()) &&
         std::all_of(word.begin(), word.end(),
                     [&](char c) { return is_plain(c) || c == '.' || c == '_' || c == '-'; });
}

}  // namespace

CopyEndpoint parse_copy_endpoint(std::string_view word) {
  const std::size_t colon = word.find(':');
  if (colon != std::string_view::npos && may_be_sandbox(word.substr(0, colon))) {
    const std::string_view path = word.substr(colon + 1);
    return {std::string(word.substr(0, colon)), std::string(path.empty() ? "." : path)};
  }
  return {"", std::string(word)};
}

std::string base_name(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.empty() ? "." : std::string(name);
}

std::string join_path(const std::string& directory, const std::string& name) {
  if (directory.empty() || directory == ".") return name;
  return directory.back() == '/' ? directory + name : directory + "/" + name;
}

bool is_plain_relative(std::string_view path) {
  if (path.empty() || path.find('\0') != std::string_view::npos) return false;
  while (true) {
    const std::string_view name = path.substr(0, path.find('/'));
    if (name.empty() || name == "." || name == "..") return false;
    if (name.size() == path.size()) return true;
    path.remove_prefix(name.size() + 1);
  }
}

}  // namespace glovebox::client
