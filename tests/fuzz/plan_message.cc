// The parser on both ends of a sandbox's making.
#include "fuzz_target.h"
#include "wire/guest/sandbox_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  fuzz::decodes_and_encodes(
      data, size, [](auto bytes) { return wire::decode_plan_message(bytes); },
      [](const wire::PlanMessage& message) { return wire::encode(message); });
  const auto message = wire::decode_plan_message(fuzz::bytes_of(data, size));
  if (!message) return 0;
  if (const auto* plan = std::get_if<wire::SandboxPlan>(&*message)) {
    fuzz::promise(plan->mounts.size() == plan->mount_is_writable.size(), "each mount has its mode");
  }
  return 0;
}
