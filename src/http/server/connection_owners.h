// Who holds how many connections, and whose connection is closed when there is no room for another.
//
// A connection belongs to the network that it came from (an IPv4 address or an IPv6 /64) until a
// request on it has shown a key; then it belongs to the project of the last key (a reverse proxy
// sends requests of many projects over one connection). Connections that wait for a
// request, or for the rest of a header, can be closed to make room. One of the largest owner's is:
// the one that has waited longest. Networks together count as one owner beside the projects, so
// that many anonymous clients with a connection each do not push out a project.
//
// One thread. Adding, removing and closing take time logarithmic in the number of owners.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace glovebox::http {

class ConnectionOwners {
  struct Owner;

 public:
  ConnectionOwners() = default;
  ConnectionOwners(const ConnectionOwners&) = delete;
  ConnectionOwners& operator=(const ConnectionOwners&) = delete;

  // One connection. `cut` closes it; it is called at most once, and then the connection is no
  // longer counted. `owners` outlives it.
  class Membership {
   public:
    Membership(ConnectionOwners& owners, const std::string& network, std::function<void()> cut);
    ~Membership() { leave(); }
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;

    // The last project counts. No effect after leave().
    void set_project(const std::string& project);
    void set_waiting(bool is_waiting);
    void leave();

   private:
    friend class ConnectionOwners;

    void join(Owner& owner);

    ConnectionOwners& owners_;
    const std::function<void()> cut_;
    Owner* owner_ = nullptr;  // null: it has left
    std::list<Membership*>::iterator position_{};
    bool is_waiting_ = false;
  };

  // Closes one; false: none of them waits.
  bool make_room();

 private:
  using BySize = std::set<std::pair<std::size_t, Owner*>>;
  struct Owner {
    BySize& ranking;  // of its kind
    std::string name;
    std::size_t connections = 0;
    std::list<Membership*> waiting{};  // longest first
  };

  Owner& find(std::map<std::string, Owner>& among, BySize& ranking, const std::string& name);
  void resize(Owner& owner, int change);
  static bool cut_one_of(const BySize& ranking);

  std::map<std::string, Owner> networks_;
  std::map<std::string, Owner> projects_;
  BySize networks_by_size_;
  BySize projects_by_size_;
  std::size_t anonymous_ = 0;  // connections of all networks
};

}  // namespace glovebox::http
