// Which user each zygote is. Its user owns the user namespaces of the sandboxes that are made for
// it, and so has every right over them: a number is given again only when nothing is left of its
// last zygote, neither a process nor a sandbox.
#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "base/result.h"
#include "launcher/sandbox/slices.h"

namespace glovebox::launcher {

class ZygoteUids {
 public:
  // In use as long as anybody has a copy; may outlive the ZygoteUids.
  using Held = std::shared_ptr<const std::uint32_t>;

  // Of a nursery's first slice, which is no sandbox's; its root is the broker.
  explicit ZygoteUids(std::uint32_t last = kSliceSize - 1) : last_(last) {}
  // The next one, in a circle, that nobody has. kResourceExhausted.
  Result<Held> take();

 private:
  std::uint32_t last_;
  std::uint32_t next_ = 1;
  std::shared_ptr<std::set<std::uint32_t>> used_ = std::make_shared<std::set<std::uint32_t>>();
};

}  // namespace glovebox::launcher
