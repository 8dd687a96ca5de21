#include "http/server/connection_owners.h"

#include <iterator>

namespace glovebox::http {

ConnectionOwners::Membership::Membership(ConnectionOwners& owners, const std::string& network,
                                         std::function<void()> cut)
    : owners_(owners), cut_(std::move(cut)) {
  join(owners_.find(owners_.networks_, owners_.networks_by_size_, network));
}

void ConnectionOwners::Membership::set_project(const std::string& project) {
  if (owner_ == nullptr) return;
  const bool has_project = &owner_->ranking == &owners_.projects_by_size_;
  if (has_project && owner_->name == project) return;
  const bool was_waiting = is_waiting_;
  leave();
  join(owners_.find(owners_.projects_, owners_.projects_by_size_, project));
  set_waiting(was_waiting);
}

void ConnectionOwners::Membership::join(Owner& owner) {
  owner_ = &owner;
  owners_.resize(owner, 1);
}

void ConnectionOwners::Membership::set_waiting(bool is_waiting) {
  if (owner_ == nullptr || is_waiting == is_waiting_) return;
  is_waiting_ = is_waiting;
  if (is_waiting) {
    position_ = owner_->waiting.insert(owner_->waiting.end(), this);
  } else {
    owner_->waiting.erase(position_);
  }
}

void ConnectionOwners::Membership::leave() {
  if (owner_ == nullptr) return;
  set_waiting(false);
  owners_.resize(*owner_, -1);
  owner_ = nullptr;
}

ConnectionOwners::Owner& ConnectionOwners::find(std::map<std::string, Owner>& among,
                                                BySize& ranking, const std::string& name) {
  return among.try_emplace(name, Owner{.ranking = ranking, .name = name}).first->second;
}

void ConnectionOwners::resize(Owner& owner, int change) {
  owner.ranking.erase({owner.connections, &owner});
  owner.connections += static_cast<std::size_t>(change);
  const bool is_network = &owner.ranking == &networks_by_size_;
  if (is_network) anonymous_ += static_cast<std::size_t>(change);
  if (owner.connections > 0) {
    owner.ranking.insert({owner.connections, &owner});
  } else {
    auto& among = is_network ? networks_ : projects_;
    among.erase(among.find(owner.name));
  }
}

bool ConnectionOwners::cut_one_of(const BySize& ranking) {
  for (auto it = ranking.rbegin(); it != ranking.rend(); ++it) {
    if (it->second->waiting.empty()) continue;
    Membership& membership = *it->second->waiting.front();
    membership.leave();
    membership.cut_();
    return true;
  }
  return false;
}

bool ConnectionOwners::make_room() {
  const std::size_t largest = projects_by_size_.empty() ? 0 : projects_by_size_.rbegin()->first;
  if (anonymous_ >= largest) return cut_one_of(networks_by_size_) || cut_one_of(projects_by_size_);
  return cut_one_of(projects_by_size_) || cut_one_of(networks_by_size_);
}

}  // namespace glovebox::http
