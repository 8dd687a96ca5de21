// `--net` and `--net-deny` of the commands that make a sandbox on a server, and the part of their
// requests that the packages and the network policy are.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "options/option.h"
#include "wire/packages/package_options.h"

namespace glovebox::client {

// As typed; see `glovebox run`.
struct NetworkOptions {
  std::vector<std::string> allow;  // --net
  std::vector<std::string> deny;   // --net-deny
};

options::OptionGroup network_options(std::string_view title, NetworkOptions& network);

// Adds "dependencies" and "net", each only if it was given. kInvalidArgument: an option.
Result<> add_packages_and_network(const wire::PackageOptions& packages,
                                  const NetworkOptions& network, boost::json::object& into);

}  // namespace glovebox::client
