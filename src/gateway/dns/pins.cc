#include "gateway/dns/pins.h"

#include <algorithm>

namespace glovebox::gateway {

void Pins::add(const net::HostName& name, std::span<const net::IpAddress> addresses, Time now) {
  while (!by_age_.empty() && by_age_.front().end <= now) drop(by_age_.begin());
  for (const net::IpAddress& address : addresses) add(name, address, now);
}

void Pins::add(const net::HostName& name, const net::IpAddress& address, Time now) {
  std::vector<Age::iterator>& here = by_address_[address];
  const auto known = std::find_if(here.begin(), here.end(),
                                  [&](const Age::iterator& pin) { return pin->name == name; });
  if (known != here.end()) {  // returned again: it becomes the newest
    const Age::iterator pin = *known;
    here.erase(known);
    here.push_back(pin);
    pin->end = now + kLife;
    by_age_.splice(by_age_.end(), by_age_, pin);
    return;
  }
  here.push_back(by_age_.insert(by_age_.end(), Pin{address, name, now + kLife}));
  if (here.size() > kMaxPerAddress) drop(here.front());
  if (by_age_.size() > kMaxPins) drop(by_age_.begin());
}

bool Pins::has(const net::HostName& name, const net::IpAddress& address, Time now) const {
  const auto here = by_address_.find(address);
  if (here == by_address_.end()) return false;
  return std::any_of(here->second.begin(), here->second.end(),
                     [&](const Age::iterator& pin) { return pin->name == name && pin->end > now; });
}

std::vector<net::HostName> Pins::names_of(const net::IpAddress& address, Time now) const {
  std::vector<net::HostName> names;
  const auto here = by_address_.find(address);
  if (here == by_address_.end()) return names;
  for (auto pin = here->second.rbegin(); pin != here->second.rend(); ++pin) {
    if ((*pin)->end > now) names.push_back((*pin)->name);
  }
  return names;
}

void Pins::drop(Age::iterator pin) {
  const auto here = by_address_.find(pin->address);
  std::erase(here->second, pin);
  if (here->second.empty()) by_address_.erase(here);
  by_age_.erase(pin);
}

}  // namespace glovebox::gateway
