#include "gateway/dns/hosts_file.h"

#include <algorithm>
#include <utility>

namespace glovebox::gateway {
namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";

// Takes the first word off the front.
std::string_view take_host_field(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

}  // namespace

HostsTable parse_hosts(std::string_view text) {
  HostsTable table;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    const auto address = net::IpAddress::parse(take_host_field(line));
    if (!address) continue;
    for (auto word = take_host_field(line); !word.empty(); word = take_host_field(line)) {
      const auto name = net::HostName::parse(word);
      if (!name) continue;
      std::vector<net::IpAddress>& known = table[name->str()];
      const bool is_new = std::find(known.begin(), known.end(), *address) == known.end();
      if (is_new && known.size() < HostsFile::kMaxAddresses) known.push_back(*address);
    }
  }
  return table;
}

std::optional<NameAnswer> HostsFile::find(const net::HostName& name, net::DnsType type,
                                          ReloadingFile::Time now) {
  if (const auto text = file_.read_if_changed(now)) table_ = parse_hosts(*text);
  const auto known = table_.find(name.str());
  if (known == table_.end()) return std::nullopt;
  NameAnswer answer{
      .state = NameAnswer::State::kNoAddress, .addresses = {}, .aliases = {}, .ttl = kTtl};
  for (const net::IpAddress& address : known->second) {
    if (address.is_v4() == (type == net::DnsType::kA)) answer.addresses.push_back(address);
  }
  if (!answer.addresses.empty()) answer.state = NameAnswer::State::kFound;
  return answer;
}

}  // namespace glovebox::gateway
