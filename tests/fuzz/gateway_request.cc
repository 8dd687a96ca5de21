// The gateway's parser of what a server asks.
#include "fuzz_target.h"
#include "wire/gateway/gateway_messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  fuzz::decodes_and_encodes(
      data, size, [](auto bytes) { return wire::decode_gateway_request(bytes); },
      [](const wire::GatewayRequest& request) { return wire::encode(request); });
  const auto request = wire::decode_gateway_request(fuzz::bytes_of(data, size));
  if (!request) return 0;
  fuzz::promise(size <= wire::kMaxGatewayMessage, "no longer message is taken");
  if (const auto* open = std::get_if<wire::OpenNetwork>(&*request)) {
    fuzz::promise(
        open->policy.allow.size() <= net::kMaxRules && open->policy.deny.size() <= net::kMaxRules,
        "rules are bounded");
  }
  return 0;
}
