// The uid of each zygote. That user owns the user namespaces of the sandboxes made for the zygote,
// and so has every right over them: a uid is reused only when nothing is left of its last zygote,
// neither a process nor a sandbox.
#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "base/result.h"
#include "launcher/sandbox/slices.h"

namespace glovebox::launcher {

class ZygoteUids {
 public:
  // The uid is in use as long as a copy exists; a lease may outlive the ZygoteUids.
  using Lease = std::shared_ptr<const std::uint32_t>;

  // Uids 1 to `last` of a nursery's first slice, which no sandbox uses; uid 0 is the broker.
  explicit ZygoteUids(std::uint32_t last = kSliceSize - 1) : last_(last) {}
  // The next free one, round robin. kResourceExhausted: all are in use.
  Result<Lease> take();

 private:
  std::uint32_t last_;
  std::uint32_t next_ = 1;
  std::shared_ptr<std::set<std::uint32_t>> used_ = std::make_shared<std::set<std::uint32_t>>();
};

}  // namespace glovebox::launcher
