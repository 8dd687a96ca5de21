#include "images/registry_credentials.h"

#include <algorithm>

#include "base/base64.h"

namespace glovebox::images {

std::vector<std::string> RegistryCredentials::secrets() const {
  // A shorter one would hide much of every text and protects nothing.
  constexpr std::size_t kLeastSecret = 4;
  std::vector<std::string> all = {password, identity_token, registry_token};
  if (!password.empty()) all.push_back(base64_encode(username + ":" + password));
  std::erase_if(all, [](const std::string& one) { return one.size() < kLeastSecret; });
  // Longest first: one may be a part of another.
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return all;
}

}  // namespace glovebox::images
