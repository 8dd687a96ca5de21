// The caller's credentials for a registry, from the files of container tools and their credential
// helpers: config.json of Docker (DOCKER_CONFIG or ~/.docker) and Podman's auth.json.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::client {

struct RegistryLogin {
  std::string username;
  std::string password;
  std::string identity_token;
  std::string registry_token;
  bool empty() const {
    return username.empty() && password.empty() && identity_token.empty() && registry_token.empty();
  }
};

// "docker.io" for "python:3", "registry.example:5000" for "registry.example:5000/team/base".
std::string registry_of_image(std::string_view image);

// Runs docker-credential-NAME with `get`; gives what it prints, or nothing if it has none.
using CredentialHelper =
    std::function<Result<std::optional<std::string>>(const std::string& name, std::string input)>;
Result<std::optional<std::string>> run_credential_helper(const std::string& name,
                                                         std::string input);

// What one such file says of a registry; empty: nothing. kInvalidArgument: it is malformed;
// kUnavailable: its helper fails.
Result<RegistryLogin> login_in_file(std::string_view text, const std::string& registry,
                                    const CredentialHelper& helper);
// Of the caller's own files, the first that has one. The error names the file.
Result<RegistryLogin> find_registry_login(const std::string& registry);

}  // namespace glovebox::client
