#include "client/requests/network_options.h"

#include <boost/json.hpp>

#include "wire/network/net_policy_json.h"
#include "wire/network/network_options.h"
#include "wire/packages/dependencies_json.h"

namespace glovebox::client {

options::OptionGroup network_options(std::string_view title, NetworkOptions& network) {
  return {title,
          {{"--net", "POLICY",
            "network policy, as for `glovebox run`: none (default), https-only, all, or rules like "
            "pypi.org:443 (repeatable)",
            &network.allow},
           {"--net-deny", "RULE", "exceptions from --net (repeatable)", &network.deny}}};
}

Result<> add_packages_and_network(const wire::PackageOptions& packages,
                                  const NetworkOptions& network, boost::json::object& into) {
  if (packages.is_given()) {
    TRY(const Dependencies wanted, wire::read_package_options(packages));
    into["dependencies"] = wire::dependencies_json(wanted);
  }
  if (!network.allow.empty() || !network.deny.empty()) {
    TRY(const net::NetPolicy policy, wire::parse_network_options(network.allow, network.deny));
    into["net"] = wire::net_policy_json(policy);
  }
  return {};
}

}  // namespace glovebox::client
