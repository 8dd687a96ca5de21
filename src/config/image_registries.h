// The registries that images may be pulled from, by the setting images.registries. An entry is
//
//   [https://|http://]HOST[:PORT][?host=HOST[:PORT]&mirror=URL&ca=FILE]
//
// A build sandbox reaches the hosts of one entry and nothing else: the registry, the `host`s of its
// tokens and blobs, and the mirror. The server reads the entries with their certificates before it
// drops its privileges; the supervisor passes the host names to the gateway. No entry contains a
// password: credentials come with each request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/settings.h"
#include "net/net_policy.h"

namespace glovebox::config {

struct ImageRegistry {
  std::string name;    // as images are called: "docker.io", "registry.example:5000"
  std::string url;     // "https://registry-1.docker.io"
  std::string mirror;  // "https://mirror.example/path"; empty: none
  std::string ca_file;
  std::string ca;                   // the certificates themselves, PEM; empty: the host's
  std::vector<net::NetRule> rules;  // all its hosts, each at one port
};

// Reads no files. kInvalidArgument names the wrong entry.
Result<std::vector<ImageRegistry>> parse_image_registries(const std::vector<std::string>& entries);
// With certificates. An entry whose file cannot be read is left out and logged.
std::vector<ImageRegistry> read_image_registries(const Settings& settings);
// What pulls may reach, all together; for the gateway. Never fails with settings from load().
Result<std::vector<net::NetRule>> registry_rules(const Settings& settings);

}  // namespace glovebox::config
