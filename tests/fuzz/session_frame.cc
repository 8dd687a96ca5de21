// The server's parser of what an agent says, which a guest may have taken over.
#include "fuzz_target.h"
#include "wire/guest/file_records.h"
#include "wire/guest/session_frames.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  fuzz::decodes_and_encodes(
      data, size, [](auto bytes) { return wire::decode_session_frame(bytes); },
      [](const wire::SessionFrame& frame) { return wire::encode(frame); });
  const auto frame = wire::decode_session_frame(fuzz::bytes_of(data, size));
  if (!frame) return 0;
  fuzz::promise(size <= wire::kMaxSessionFrame, "no frame is longer than a frame may be");
  if (const auto* output = std::get_if<wire::Output>(&*frame)) {
    fuzz::promise(output->offset + output->bytes.size() >= output->offset, "offsets do not wrap");
    fuzz::promise(output->bytes.size() <= wire::kMaxSessionChunk, "a chunk is bounded");
  }
  if (const auto* data_of = std::get_if<wire::StreamData>(&*frame)) {
    fuzz::promise(!data_of->bytes.empty() && data_of->bytes.size() <= wire::kMaxSessionChunk,
                  "a piece of a stream is one, and bounded");
  }
  if (const auto* is = std::get_if<wire::ProcessStatus>(&*frame)) {
    fuzz::promise(is->out.begin <= is->out.end && is->err.begin <= is->err.end &&
                      is->results.begin <= is->results.end,
                  "a stream begins before it ends");
    fuzz::promise(is->label.size() <= wire::kMaxLabel, "a label is bounded");
  }
  if (const auto* done = std::get_if<wire::FileDone>(&*frame)) {
    fuzz::promise(done->sys_errno >= 0 && done->sys_errno <= 0xffff, "an errno is one");
    fuzz::promise(done->entry.size() <= wire::kMaxFileRecord + 4, "an entry is bounded");
  }
  return 0;
}
