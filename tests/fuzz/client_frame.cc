// The agent's parser of what comes over a sandbox's socket.
#include "fuzz_target.h"
#include "wire/guest/guest_frames.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  fuzz::decodes_and_encodes(
      data, size, [](auto bytes) { return wire::decode_client_frame(bytes); },
      [](const wire::ClientFrame& frame) { return wire::encode(frame); });
  const auto frame = wire::decode_client_frame(fuzz::bytes_of(data, size));
  if (!frame) return 0;
  if (const auto* start = std::get_if<wire::StartProgram>(&*frame)) {
    fuzz::promise(!start->exec.argv.empty(), "there is a program");
    for (const auto* list : {&start->exec.argv, &start->exec.env}) {
      for (const std::string& text : *list) {
        fuzz::promise(text.find('\0') == std::string::npos, "no string hides a NUL");
      }
    }
  }
  if (const auto* put = std::get_if<wire::PutFile>(&*frame)) {
    fuzz::promise((put->mode & ~0777u) == 0, "no file is setuid");
  }
  return 0;
}
