// The options of `glovebox sandbox create` as the body of POST /v1/sandboxes.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client/requests/limit_options.h"
#include "client/requests/network_options.h"
#include "wire/packages/package_options.h"

namespace glovebox::client {

struct NewSandboxOptions {
  std::string template_name;
  std::string snapshot;
  std::string image;
  std::string pull;  // when the image is pulled first; empty: when it is missing
  std::string ttl;   // "10m"
  std::string on_timeout;
  std::string agent_id;
  std::string name;
  LimitOptions limits;
  std::string min_grade;
  std::vector<std::string> env;       // NAME=VALUE
  std::vector<std::string> metadata;  // KEY=VALUE
  std::vector<std::string> mounts;    // NAME:/guest/path[:rw]
  NetworkOptions network;
  bool private_ports = false;
  wire::PackageOptions packages;
};

Result<std::string> new_sandbox_json(const NewSandboxOptions& sandbox);

// "10m" in whole seconds, rounded up.
Result<std::uint64_t> parse_seconds(const std::string& text, std::string_view option);

}  // namespace glovebox::client
