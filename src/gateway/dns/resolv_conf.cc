#include "gateway/dns/resolv_conf.h"

#include <algorithm>
#include <utility>

namespace glovebox::gateway {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Takes the first word off the front.
std::string_view take_resolv_field(std::string_view& line) {
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  std::size_t size = 0;
  while (size < line.size() && !is_blank(line[size])) ++size;
  const std::string_view word = line.substr(0, size);
  line.remove_prefix(size);
  return word;
}

}  // namespace

std::vector<DnsServer> parse_resolv_conf(std::string_view text) {
  std::vector<DnsServer> servers;
  while (!text.empty() && servers.size() < kMaxDnsServers) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (take_resolv_field(line) != "nameserver") continue;
    const auto address = net::IpAddress::parse(take_resolv_field(line));
    if (!address) continue;
    const DnsServer server{.address = *address};
    if (std::find(servers.begin(), servers.end(), server) == servers.end()) {
      servers.push_back(server);
    }
  }
  return servers;
}

const std::vector<DnsServer>& ResolvConf::servers(Time now) {
  if (const auto text = file_.read_if_changed(now)) {
    servers_ = parse_resolv_conf(*text);
    if (servers_.empty()) {
      servers_.push_back(DnsServer{.address = net::IpAddress::v4({127, 0, 0, 1})});
    }
  }
  return servers_;
}

}  // namespace glovebox::gateway
