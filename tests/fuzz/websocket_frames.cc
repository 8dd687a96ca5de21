// Frames of WebSockets, as a server and as a client read them. However the bytes are cut, the same
// comes out; a message is never larger than its bound, and nothing is allocated on a length's word.
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "fuzz_target.h"
#include "http/websocket/websocket_frames.h"

namespace {

using namespace glovebox;
using http::WebSocketReader;
constexpr std::size_t kMost = 4096;

std::vector<std::string> read_all(std::string_view bytes, std::size_t piece,
                                  WebSocketReader::Masks masks) {
  WebSocketReader reader(masks, kMost);
  std::vector<std::string> out;
  while (!bytes.empty()) {
    std::string_view part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    for (;;) {
      const WebSocketReader::Event event = reader.read(part);
      if (std::holds_alternative<WebSocketReader::NeedMore>(event)) break;
      if (const auto* message = std::get_if<http::WebSocketMessage>(&event)) {
        fuzz::promise(message->data.size() <= kMost, "a message has a bound");
        fuzz::promise(!message->text || is_utf8(message->data), "text is text");
        out.push_back((message->text ? "t" : "b") + message->data);
      } else if (const auto* ping = std::get_if<WebSocketReader::Ping>(&event)) {
        fuzz::promise(ping->data.size() <= 125, "a ping is short");
        out.push_back("p" + ping->data);
      } else if (const auto* close = std::get_if<WebSocketReader::Close>(&event)) {
        out.push_back("c" + std::to_string(close->code) + close->reason);
        return out;
      } else if (const auto* broken = std::get_if<WebSocketReader::Broken>(&event)) {
        out.push_back("x" + std::to_string(broken->code));
        return out;
      }
    }
    fuzz::promise(part.empty(), "more is wanted only when all was taken");
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto masks : {WebSocketReader::Masks::kMust, WebSocketReader::Masks::kMustNot}) {
    fuzz::reset_allocated();
    const auto whole = read_all(text, size, masks);
    fuzz::promise(fuzz::allocated() <= 16 * 1024 + 64 * size, "lengths are not believed");
    fuzz::promise(whole == read_all(text, 1, masks), "byte by byte it is the same");
    fuzz::promise(whole == read_all(text, 2 + data[0] % 8, masks), "and in pieces");
  }
  if (size <= kMost) {
    const std::string frame = http::masked_frame(http::Opcode::kBinary, text, {1, 2, 3, 4});
    const auto again = read_all(frame, 3, WebSocketReader::Masks::kMust);
    fuzz::promise(again == std::vector<std::string>{"b" + std::string(text)},
                  "our own frames are read again");
  }
  return 0;
}
