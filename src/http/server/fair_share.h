// Shares among the owners of requests what the server has a bounded amount of: requests in
// progress, bytes of bodies.
//
// An owner may take more while it has less than is free. One owner alone therefore gets half of
// all, and one that comes later half of what is still free; as the first gives back and takes
// again, both come to a third. A project and the visitors of its sandboxes' ports are one owner;
// visitors are refused first, at a third of all, so that they leave the project something of its
// own. Anonymous clients count as one owner beside the projects, however many networks they come
// from; among them, a network that has less may take more.
//
// One thread. Each step takes time logarithmic in the number of owners.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace glovebox::http {

// Whom a request is charged to.
struct RequestOwner {
  enum class Kind : std::uint8_t {
    kAnonymous,  // shows no credential; `name` is its network
    kProject,    // shows a key or a token of the project
    kVisitor,    // shows no credential and is for a sandbox of the project
  };
  Kind kind = Kind::kAnonymous;
  std::string name{};

  bool operator==(const RequestOwner&) const = default;
};

class FairShare {
 public:
  explicit FairShare(std::size_t most) : most_(most) {}
  FairShare(const FairShare&) = delete;
  FairShare& operator=(const FairShare&) = delete;

  bool has_room(const RequestOwner& owner) const;
  std::size_t total() const { return total_; }

  // What one request has taken; given back at the end. `share` outlives it.
  class Part {
   public:
    Part(FairShare& share, RequestOwner owner, std::size_t amount = 0)
        : share_(share), owner_(std::move(owner)) {
      set(amount);
    }
    ~Part() { set(0); }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    void set(std::size_t amount);
    bool may_grow() const { return share_.has_room(owner_); }

   private:
    FairShare& share_;
    const RequestOwner owner_;
    std::size_t amount_ = 0;
  };

 private:
  const std::size_t most_;
  std::size_t total_ = 0;
  std::size_t anonymous_ = 0;  // of total_
  struct Taken {
    std::size_t all = 0;
    std::size_t visitors = 0;  // of all
  };
  std::map<std::string, Taken> networks_;  // of anonymous clients
  std::map<std::string, Taken> projects_;
};

}  // namespace glovebox::http
