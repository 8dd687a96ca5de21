// A round-robin queue between owners: each has a FIFO of its own, and these are served in turn. A
// thousand requests of one owner do not delay a single one of another.
#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <string>

namespace glovebox::node {

// T is a pointer or something as cheap to copy.
template <class T>
class FairQueue {
 public:
  void push(const std::string& owner, T item) {
    auto [line, is_new] = lines_.try_emplace(owner);
    if (is_new) turns_.push_back(owner);
    line->second.push_back(item);
    ++size_;
  }

  // Offers the first item of each owner, in turn, until none is served. `serve` returns whether the
  // item was served; then it is removed and its owner goes to the end. `serve` must not touch this
  // queue.
  template <class Serve>
  void serve(Serve serve) {
    std::size_t refused = 0;
    while (refused < turns_.size()) {
      const std::string owner = std::move(turns_.front());
      turns_.pop_front();
      const auto line = lines_.find(owner);
      if (serve(line->second.front())) {
        refused = 0;
        line->second.pop_front();
        --size_;
        if (line->second.empty()) {
          lines_.erase(line);
          continue;
        }
      } else {
        ++refused;
      }
      turns_.push_back(owner);
    }
  }

  bool remove(const std::string& owner, T item) {
    const auto line = lines_.find(owner);
    if (line == lines_.end()) return false;
    for (auto at = line->second.begin(); at != line->second.end(); ++at) {
      if (*at != item) continue;
      line->second.erase(at);
      --size_;
      if (line->second.empty()) {
        lines_.erase(line);
        turns_.remove(owner);
      }
      return true;
    }
    return false;
  }

  // Every item, owner by owner; for deadlines.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [owner, line] : lines_) {
      for (const T& item : line) visit(item);
    }
  }

  // Whether it holds for any owner with queued items.
  template <class Holds>
  bool any_owner(Holds holds) const {
    for (const auto& [owner, line] : lines_) {
      if (holds(owner)) return true;
    }
    return false;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t size_of(const std::string& owner) const {
    const auto line = lines_.find(owner);
    return line == lines_.end() ? 0 : line->second.size();
  }

 private:
  std::map<std::string, std::deque<T>> lines_;
  std::list<std::string> turns_;  // owners with queued items, next first
  std::size_t size_ = 0;
};

}  // namespace glovebox::node
