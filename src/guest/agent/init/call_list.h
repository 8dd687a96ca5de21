// A filter that decides about most calls by their number alone. Part of gen_filter: libseccomp's
// tree has a node for each call, this one only where the answer changes, and the kernel translates
// the filter again for every program that is started.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <map>
#include <vector>

namespace glovebox::agent {

class CallList {
 public:
  using Filter = std::vector<sock_filter>;

  // `unlisted`: the answer for every other call, and for those of other architectures.
  CallList(std::uint32_t arch, std::uint32_t unlisted) : arch_(arch), unlisted_(unlisted) {}
  // False if the call has another answer already.
  bool add(std::uint32_t number, std::uint32_t answer);
  // Its arguments decide: this whole filter answers.
  bool add(std::uint32_t number, Filter filter);
  // Empty if there are too many answers for the jumps of a filter.
  Filter compile() const;

 private:
  std::uint32_t arch_;
  std::uint32_t unlisted_;
  std::vector<Filter> leaves_;  // each a program by itself
  std::map<std::uint32_t, std::size_t> listed_;

  std::size_t leaf_of(std::uint32_t answer);
};

}  // namespace glovebox::agent
