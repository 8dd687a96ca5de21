// The agent's parser of what comes over a session's socket.
#include "fuzz_target.h"
#include "wire/guest/session_frames.h"

namespace {

bool hides_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  fuzz::decodes_and_encodes(
      data, size, [](auto bytes) { return wire::decode_server_frame(bytes); },
      [](const wire::ServerFrame& frame) { return wire::encode(frame); });
  const auto frame = wire::decode_server_frame(fuzz::bytes_of(data, size));
  if (!frame) return 0;
  fuzz::promise(size <= wire::kMaxSessionFrame, "no frame is longer than a frame may be");
  if (const auto* start = std::get_if<wire::StartProcess>(&*frame)) {
    fuzz::promise(!start->exec.argv.empty(), "there is a program");
    for (const auto* list : {&start->exec.argv, &start->exec.env}) {
      for (const std::string& text : *list) {
        fuzz::promise(!hides_nul(text), "no string hides a NUL");
      }
    }
    fuzz::promise(!start->user.empty() && !hides_nul(start->user), "it has a user");
    fuzz::promise(!hides_nul(start->exec.workdir), "it is somewhere");
  }
  if (const auto* input = std::get_if<wire::Input>(&*frame)) {
    fuzz::promise(input->offset + input->bytes.size() >= input->offset, "offsets do not wrap");
    fuzz::promise(input->bytes.size() <= wire::kMaxSessionChunk, "a chunk is bounded");
  }
  if (const auto* data_of = std::get_if<wire::StreamData>(&*frame)) {
    fuzz::promise(!data_of->bytes.empty() && data_of->bytes.size() <= wire::kMaxSessionChunk,
                  "a piece of a stream is one, and bounded");
  }
  if (const auto* signal = std::get_if<wire::SignalProcess>(&*frame)) {
    fuzz::promise(signal->signal >= 1 && signal->signal <= 64, "it is a signal");
  }
  if (const auto* file = std::get_if<wire::FileRequest>(&*frame)) {
    fuzz::promise(!hides_nul(file->path) && !hides_nul(file->target), "no path hides a NUL");
    fuzz::promise(file->path.size() <= wire::kMaxSessionPath, "a path is bounded");
    fuzz::promise(!file->mode || *file->mode <= 07777, "a mode is one");
  }
  return 0;
}
