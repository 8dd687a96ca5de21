// Frames over a byte stream (base/frame_link.h): from a stranger, and to who takes the place of a
// program that ended in the middle of one.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "base/frame_link.h"
#include "base/unique_fd.h"
#include "fuzz_target.h"

namespace {

using namespace glovebox;

constexpr std::size_t kMost = 300;

UniqueFd file_with(std::span<const std::byte> bytes) {
  UniqueFd file(::memfd_create("frames", MFD_CLOEXEC));
  fuzz::promise(file && ::write(file.get(), bytes.data(), bytes.size()) == ssize_t(bytes.size()),
                "the bytes are there");
  return file;
}

// Every frame up to the end. Each refusal is for a byte at least, so that it comes to an end.
std::vector<std::vector<std::byte>> frames_in(const UniqueFd& file,
                                              std::span<const std::byte> mark) {
  ::lseek(file.get(), 0, SEEK_SET);
  FrameLink link(file.get(), kMost);
  fuzz::promise(link.is_byte_stream(), "a file is no SEQPACKET socket");
  if (!mark.empty()) link.seek(mark);
  std::vector<std::vector<std::byte>> frames;
  off_t at = 0;
  while (true) {
    const auto received = link.receive(0);
    const off_t now = ::lseek(file.get(), 0, SEEK_CUR);
    if (received && received->bytes.empty()) return frames;
    if (received) {
      fuzz::promise(received->bytes.size() <= kMost, "a frame is bounded");
      fuzz::promise(now > at, "a frame is of bytes that were there");
      frames.push_back(received->bytes);
    } else {
      fuzz::promise(received.error().code() == Errc::kProtocol, "what is not a frame is refused");
    }
    fuzz::promise(now <= at + off_t(2 * kMost + 16) || !mark.empty(), "no reading ahead");
    at = now;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const auto bytes = fuzz::bytes_of(data + 1, size - 1);
  std::vector<std::byte> mark(FrameLink::kMarkBytes);
  std::memcpy(mark.data(), "gbx mark\1\2\3\4\5\6\7\x08", mark.size());
  (void)frames_in(file_with(bytes), {});
  (void)frames_in(file_with(bytes), mark);

  // A frame that was cut off somewhere, and one of the next program.
  const auto content = bytes.first(std::min(bytes.size(), kMost));
  if (content.empty()) return 0;
  const std::vector<std::byte> after(3, std::byte{'a'});
  const UniqueFd file = file_with({});
  FrameLink first(file.get(), kMost);
  fuzz::promise(first.send(content).has_value(), "sent");
  const auto whole = static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_CUR));
  const std::size_t cut = data[0] % (whole + 1);
  fuzz::promise(::ftruncate(file.get(), off_t(cut)) == 0, "cut off");
  ::lseek(file.get(), 0, SEEK_END);
  FrameLink second(file.get(), kMost);
  second.flush_cut_frame();
  fuzz::promise(second.send(after).has_value(), "sent");
  const auto frames = frames_in(file, {});
  fuzz::promise(!frames.empty() && frames.back() == after, "the next program is understood");
  fuzz::promise(frames.size() == (cut == whole ? 2 : 1), "what was cut off is not taken");
  if (cut == whole) {
    fuzz::promise(std::equal(content.begin(), content.end(), frames[0].begin(), frames[0].end()),
                  "what was whole is taken");
  }

  // The same in the other direction: what follows the mark is all that counts.
  second.send_mark(mark);
  fuzz::promise(second.send(after).has_value(), "sent");
  const auto marked = frames_in(file, mark);
  fuzz::promise(!marked.empty() && marked.back() == after, "what follows the mark is understood");
  return 0;
}
