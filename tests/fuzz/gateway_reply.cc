// The server's parser of what the gateway, which parses guests, answers.
#include "fuzz_target.h"
#include "wire/gateway/gateway_messages.h"

namespace {

bool is_printable(const std::string& text) {
  for (const char c : text) {
    if (c < ' ' || c > '~') return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  fuzz::decodes_and_encodes(
      data, size, [](auto bytes) { return wire::decode_gateway_reply(bytes); },
      [](const wire::GatewayReply& reply) { return wire::encode(reply); });
  const auto reply = wire::decode_gateway_reply(fuzz::bytes_of(data, size));
  if (!reply) return 0;
  fuzz::promise(size <= wire::kMaxGatewayMessage, "no longer message is taken");
  if (const auto* report = std::get_if<wire::NetworkReport>(&*reply)) {
    fuzz::promise(report->decisions.size() <= wire::kMaxDecisions, "decisions are bounded");
    for (const wire::NetDecision& decision : report->decisions) {
      fuzz::promise(is_printable(decision.name) && is_printable(decision.address) &&
                        is_printable(decision.rule),
                    "a decision's words are harmless in a log");
    }
  }
  return 0;
}
