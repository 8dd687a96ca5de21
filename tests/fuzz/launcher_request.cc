// The launcher's parser of what clients ask.
#include "fuzz_target.h"
#include "wire/launcher_messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  fuzz::decodes_and_encodes(
      data, size, [](auto bytes) { return wire::decode_launcher_request(bytes); },
      [](const wire::LauncherRequest& request) { return wire::encode(request); });
  const auto request = wire::decode_launcher_request(fuzz::bytes_of(data, size));
  if (!request) return 0;
  fuzz::promise(size <= wire::kMaxLauncherMessage, "no longer message is taken");
  if (const auto* create = std::get_if<wire::CreateSandbox>(&*request)) {
    fuzz::promise(create->mounts.size() <= wire::kMaxMounts, "mounts are bounded");
    fuzz::promise(create->limits.wall.count() > 0 && create->limits.memory_bytes > 0 &&
                      create->limits.pids > 0,
                  "no limit is zero");
  }
  return 0;
}
