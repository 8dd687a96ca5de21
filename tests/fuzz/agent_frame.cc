// The client's parser of what a guest, which may have taken its agent over, sends back.
#include "fuzz_target.h"
#include "wire/guest/guest_frames.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  fuzz::decodes_and_encodes(
      data, size, [](auto bytes) { return wire::decode_agent_frame(bytes); },
      [](const wire::AgentFrame& frame) { return wire::encode(frame); });
  return 0;
}
