// The first bytes of a sandbox's connection, as they come: what is said of them early is what is
// said of them late, and nothing but a name is a name.
#include "net/client_hello.h"

#include <algorithm>
#include <string>

#include "fuzz_target.h"

namespace {

using namespace glovebox;
using net::HelloIncomplete;
using net::HelloName;
using net::HelloRefused;
using net::HelloResult;

bool is_final(const HelloResult& result) {
  return !std::holds_alternative<HelloIncomplete>(result);
}

bool same(const HelloResult& one, const HelloResult& other) {
  if (one.index() != other.index()) return false;
  if (const auto* name = std::get_if<HelloName>(&one)) {
    return name->name == std::get<HelloName>(other).name;
  }
  if (const auto* refused = std::get_if<HelloRefused>(&one)) {
    const auto& second = std::get<HelloRefused>(other);
    return refused->why == second.why && refused->is_nameless == second.is_nameless;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::bytes_of(data, size);
  fuzz::reset_allocated();
  const HelloResult whole = net::read_client_hello(bytes);
  fuzz::promise(fuzz::allocated() <= 4096 + 4 * std::min(size, net::kMaxClientHello),
                "it allocates no more than it was given");
  fuzz::promise(is_final(whole) || size < net::kMaxClientHello, "it never asks for more than that");
  if (const auto* incomplete = std::get_if<HelloIncomplete>(&whole)) {
    fuzz::promise(incomplete->needs > size && incomplete->needs <= net::kMaxClientHello,
                  "it waits for something");
  }
  if (const auto* name = std::get_if<HelloName>(&whole)) {
    const auto again = net::HostName::parse(name->name.str());
    fuzz::promise(again.has_value() && *again == name->name, "a name is one");
  }
  if (const auto* refused = std::get_if<HelloRefused>(&whole)) {
    fuzz::promise(!refused->why.empty() && refused->why.size() < 80, "what is said is bounded");
    fuzz::promise(
        !refused->is_nameless || size == 0 || data[0] == 22 || data[0] < 20 || data[0] > 24,
        "a record of TLS is not another protocol");
  }
  // Every beginning of a short one; of a long one some of them.
  const std::size_t step = 1 + size / 300;
  bool was_final = false;
  for (std::size_t length = 0; length < size; length += step) {
    const HelloResult part = net::read_client_hello(bytes.first(length));
    fuzz::promise(!was_final || is_final(part), "an answer is not taken back");
    was_final = is_final(part);
    if (const auto* incomplete = std::get_if<HelloIncomplete>(&part)) {
      fuzz::promise(!std::holds_alternative<HelloName>(whole) || incomplete->needs <= size,
                    "a whole hello has what it was waited for");
    }
    fuzz::promise(!was_final || same(part, whole), "more bytes do not change an answer");
  }
  return 0;
}
