// Heads of answers from inside a sandbox. What is passed on has one framing and nothing that is
// between neighbours only.
#include <string>
#include <string_view>

#include "fuzz_target.h"
#include "http/proxy/upstream_answer.h"

namespace {

using namespace glovebox;
using Reader = http::UpstreamHeadReader;

struct Outcome {
  Reader::Step step = Reader::Step::kNeedMore;
  std::size_t used = 0;
  http::UpstreamHead head;
};

Outcome read(std::string_view bytes, std::size_t piece) {
  Reader reader(http::Method::kGet);
  Outcome out;
  std::string held;
  while (!bytes.empty() && out.step == Reader::Step::kNeedMore) {
    held += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    std::size_t used = 0;
    out.step = reader.read(held, used);
    fuzz::promise(used <= held.size(), "it takes what it got");
    held.erase(0, used);
    out.used += used;
  }
  if (out.step == Reader::Step::kDone) out.head = reader.take();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Outcome whole = read(text, size);
  const Outcome pieces = read(text, 1 + data[size - 1] % 5);
  // How soon a wrong one is noticed depends on the pieces; whether it is a good one does not.
  fuzz::promise((whole.step == Reader::Step::kDone) == (pieces.step == Reader::Step::kDone),
                "in pieces it is the same");
  if (whole.step != Reader::Step::kDone) return 0;
  http::UpstreamHead& head = whole.head;
  fuzz::promise(whole.used == pieces.used && head.status == pieces.head.status &&
                    head.body == pieces.head.body && head.length == pieces.head.length,
                "in pieces it is the same head");
  fuzz::promise(head.status == 101 || (head.status >= 200 && head.status < 600), "a real status");
  fuzz::promise(head.headers.count("Content-Length") + head.headers.count("Transfer-Encoding") <= 1,
                "one framing");
  http::remove_hop_by_hop(head.headers);
  for (const char* name : {"Connection", "Transfer-Encoding", "Upgrade", "Content-Length"}) {
    fuzz::promise(head.headers.find(name) == nullptr, "nothing between neighbours goes on");
  }
  for (const auto& [name, value] : head.headers) {
    fuzz::promise(name.find_first_of("\r\n: ") == std::string::npos, "a name is a name");
    fuzz::promise(value.find_first_of("\r\n") == std::string::npos, "a value is one line");
  }
  return 0;
}
