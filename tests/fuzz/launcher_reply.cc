// The client's parser of what a launcher answers.
#include "fuzz_target.h"
#include "wire/launcher/launcher_messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  fuzz::decodes_and_encodes(
      data, size, [](auto bytes) { return wire::decode_launcher_reply(bytes); },
      [](const wire::LauncherReply& reply) { return wire::encode(reply); });
  return 0;
}
