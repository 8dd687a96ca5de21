// What a client shows a registry for one pull. Kept for that pull only: in no record, no log, no
// layer, and in no sandbox but the one that fetches.
#pragma once

#include <string>
#include <vector>

namespace glovebox::images {

struct RegistryCredentials {
  std::string username{};
  std::string password{};
  std::string identity_token{};  // for the registry's token server (OAuth2's refresh token)
  std::string registry_token{};  // shown to the registry as it is

  bool empty() const {
    return username.empty() && password.empty() && identity_token.empty() && registry_token.empty();
  }
  // What must be hidden in every text of the pull: also the form in which the first two are sent.
  std::vector<std::string> secrets() const;
};

}  // namespace glovebox::images
