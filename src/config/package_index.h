// Where packages come from, by the settings and the host's configuration: Python's indexes, npm's
// registry, their CA certificates, and what a build may therefore reach. The server reads this
// before it drops its privileges; the supervisor passes the host names to the gateway. URLs may
// contain passwords: they appear in no argument of a program, no log and no response.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/settings.h"
#include "net/net_policy.h"

namespace glovebox::config {

struct PackageIndexes {
  std::string pip_index;  // with its user and password, if it has them
  std::vector<std::string> pip_extra_indexes;
  std::vector<std::string> pip_trusted_hosts;
  std::string npm_registry;
  std::vector<std::string> npmrc_lines;  // credentials of the registry: "//host/:_authToken=..."
  std::string ca_bundle;  // the certificates themselves, PEM; empty: the host has none

  // The names and ports of all of the above and of where their files are, for one kind of client.
  std::vector<net::NetRule> pip_rules;
  std::vector<net::NetRule> npm_rules;

  // Addresses without a user and password, as they may be shown and are part of a layer's key.
  std::string shown_pip() const;
  std::string shown_npm() const;
};

// `variable` returns the value of an environment variable. kInvalidArgument names the wrong
// setting: not an http(s) URL, a password in deps.index_url (which every user can read in the list
// of processes: it belongs in the file of deps.pip_config), or an address on loopback, which a
// sandbox cannot reach.
using Variable = std::function<std::optional<std::string>(const char* name)>;
Result<PackageIndexes> read_package_indexes(const Settings& settings, const Variable& variable);
// Of the environment of this process.
Variable own_environment();

// The names of the environment variables that are used.
std::span<const char* const> index_variables();

// Checks that need the settings alone, for load().
Result<> check_index_settings(const Settings& settings);
Result<std::vector<net::NetRule>> parse_file_hosts(const std::vector<std::string>& words);

// The rules of both clients: what a build may reach. Reads no certificates. Empty if deps.enabled
// is false.
Result<std::vector<net::NetRule>> index_rules(const Settings& settings, const Variable& variable);

// A ceiling of these rules only, at any address that is not link-local, multicast or the like. For
// the gateway, which gets the rules and no passwords.
net::NetCeiling build_ceiling(std::vector<net::NetRule> rules);

}  // namespace glovebox::config
