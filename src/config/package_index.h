// Where packages come from, as the administrator and the host say: Python's indexes, npm's
// registry, the certificates by which they are known, and what a build may therefore reach. The
// server reads it all before it gives up its rights; the supervisor tells the gateway the names.
// Addresses may hold passwords: they are in no argument of a program, in no log and in no answer.
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
  std::vector<std::string>
      npm_words;          // lines of .npmrc with which it is asked: "//host/:_authToken=..."
  std::string ca_bundle;  // the certificates themselves, PEM; empty: the host has none

  // The names and ports of all of the above and of where their files are, for one kind of client.
  std::vector<net::NetRule> pip_rules;
  std::vector<net::NetRule> npm_rules;

  // Addresses without a user and password, as they may be shown and are part of a layer's key.
  std::string shown_pip() const;
  std::string shown_npm() const;
};

// `variable` gives the value of an environment variable of the server's. kInvalidArgument names the
// setting that is wrong: no http(s) address, a password in deps.index_url (which everybody can read
// in the list of processes: it belongs in the file of deps.pip_config), an address on loopback,
// which in a sandbox is its own.
using Variable = std::function<std::optional<std::string>(const char* name)>;
Result<PackageIndexes> read_package_indexes(const Settings& settings, const Variable& variable);
// Of the environment of this process.
Variable own_environment();

// The names of the variables that are asked for: nothing else of the environment counts here.
std::span<const char* const> index_variables();

// What of it can be seen in the settings alone, for load().
Result<> check_index_settings(const Settings& settings);
Result<std::vector<net::NetRule>> parse_file_hosts(const std::vector<std::string>& words);

// The rules above, of both clients: what a build may reach. Says nothing else of the indexes, and
// looks at no certificates. Nothing at all where deps.enabled says that there are no builds.
Result<std::vector<net::NetRule>> index_rules(const Settings& settings, const Variable& variable);

// Those and nothing else, at any address that is not link-local, multicast or the like. For the
// gateway, which is told the rules and never hears of a password.
net::NetCeiling build_ceiling(std::vector<net::NetRule> rules);

}  // namespace glovebox::config
