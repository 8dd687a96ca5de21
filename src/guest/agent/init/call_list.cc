#include "guest/agent/init/call_list.h"

#include <linux/seccomp.h>

#include <cstddef>
#include <utility>

namespace glovebox::agent {
namespace {

constexpr std::uint32_t kMaxJump = 255;

constexpr sock_filter load(std::size_t offset) {
  return {BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offset)};
}

constexpr sock_filter answer_with(std::uint32_t answer) { return {BPF_RET | BPF_K, 0, 0, answer}; }

bool is_same(const CallList::Filter& one, const sock_filter& only) {
  return one.size() == 1 && one[0].code == only.code && one[0].k == only.k;
}

// From this number on, up to the next range's.
struct Range {
  std::uint32_t first = 0;
  std::size_t leaf = 0;
};

// A node compares the number. Its two targets are nodes, or behind all nodes the leaves.
class Tree {
 public:
  explicit Tree(const std::vector<Range>& ranges) : ranges_(ranges) {
    if (ranges.size() > 1) grow(0, ranges.size());
  }
  // One jump for each leaf follows, in their order. False if a target is too far away.
  bool append_to(CallList::Filter& filter) const {
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
      const Node& node = nodes_[at];
      const std::size_t yes = place_of(node.yes) - at - 1;
      const std::size_t no = place_of(node.no) - at - 1;
      if (yes > kMaxJump || no > kMaxJump) return false;
      filter.push_back({BPF_JMP | BPF_JGE | BPF_K, static_cast<std::uint8_t>(yes),
                        static_cast<std::uint8_t>(no), node.least});
    }
    return true;
  }

 private:
  struct Target {
    bool is_leaf = false;
    std::size_t index = 0;
  };
  struct Node {
    std::uint32_t least = 0;
    Target yes;
    Target no;
  };

  Target grow(std::size_t from, std::size_t to) {
    if (to - from == 1) return {true, ranges_[from].leaf};
    const std::size_t at = nodes_.size();
    const std::size_t middle = from + (to - from) / 2;
    nodes_.push_back({ranges_[middle].first, {}, {}});
    const Target no = grow(from, middle);
    const Target yes = grow(middle, to);
    nodes_[at].no = no;
    nodes_[at].yes = yes;
    return {false, at};
  }
  std::size_t place_of(const Target& target) const {
    return target.is_leaf ? nodes_.size() + target.index : target.index;
  }

  const std::vector<Range>& ranges_;
  std::vector<Node> nodes_;
};

}  // namespace

std::size_t CallList::leaf_of(std::uint32_t answer) {
  const sock_filter only = answer_with(answer);
  for (std::size_t at = 0; at < leaves_.size(); ++at) {
    if (is_same(leaves_[at], only)) return at;
  }
  leaves_.push_back({only});
  return leaves_.size() - 1;
}

bool CallList::add(std::uint32_t number, std::uint32_t answer) {
  const std::size_t leaf = leaf_of(answer);
  return listed_.emplace(number, leaf).first->second == leaf;
}

bool CallList::add(std::uint32_t number, Filter filter) {
  leaves_.push_back(std::move(filter));
  return listed_.emplace(number, leaves_.size() - 1).second;
}

CallList::Filter CallList::compile() const {
  CallList all = *this;
  const std::size_t unlisted = all.leaf_of(unlisted_);
  std::vector<Range> ranges = {{0, unlisted}};
  const auto begin = [&ranges](std::uint32_t number, std::size_t leaf) {
    if (ranges.back().first == number) ranges.pop_back();
    if (ranges.empty() || ranges.back().leaf != leaf) ranges.push_back({number, leaf});
  };
  for (const auto& [number, leaf] : all.listed_) {
    begin(number, leaf);
    begin(number + 1, unlisted);
  }
  Filter filter = {load(offsetof(seccomp_data, arch)),
                   {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, arch_},
                   answer_with(unlisted_),
                   load(offsetof(seccomp_data, nr))};
  if (!Tree(ranges).append_to(filter)) return {};
  // First one instruction for each leaf, so that the jumps are short; then those that are longer.
  std::size_t behind = all.leaves_.size();
  for (std::size_t at = 0; at < all.leaves_.size(); ++at) {
    const Filter& leaf = all.leaves_[at];
    if (leaf.size() == 1) {
      filter.push_back(leaf[0]);
    } else {
      filter.push_back({BPF_JMP | BPF_JA, 0, 0, static_cast<std::uint32_t>(behind - at - 1)});
      behind += leaf.size();
    }
  }
  for (const Filter& leaf : all.leaves_) {
    if (leaf.size() > 1) filter.insert(filter.end(), leaf.begin(), leaf.end());
  }
  return filter;
}

}  // namespace glovebox::agent
