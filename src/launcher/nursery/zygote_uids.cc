#include "launcher/nursery/zygote_uids.h"

namespace glovebox::launcher {

Result<ZygoteUids::Lease> ZygoteUids::take() {
  if (used_->size() >= last_) {
    return fail(Errc::kResourceExhausted, "all uids for zygotes are in use");
  }
  while (used_->contains(next_)) next_ = next_ < last_ ? next_ + 1 : 1;
  const std::uint32_t uid = next_;
  next_ = next_ < last_ ? next_ + 1 : 1;
  used_->insert(uid);
  return Lease(new const std::uint32_t(uid), [used = used_](const std::uint32_t* given) {
    used->erase(*given);
    delete given;
  });
}

}  // namespace glovebox::launcher
