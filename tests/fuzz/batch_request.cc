// The body of POST /v1/run/batch: untrusted, from any client with a key.
#include <string>

#include "fuzz_target.h"
#include "wire/runs/batch_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto request = wire::parse_batch_request(body);
  if (!request) {
    fuzz::promise(request.error().code() == Errc::kInvalidArgument, "it is the caller's mistake");
    fuzz::promise(!request.error().message().empty(), "and is told");
    return 0;
  }
  fuzz::promise(!request->inputs.empty() && request->inputs.size() <= wire::kMaxBatchInputs,
                "there are inputs, and not too many");
  fuzz::promise(request->parallel >= 1 && request->parallel <= wire::kMaxBatchParallel,
                "so many at a time");
  fuzz::promise(request->run.args.empty() && request->run.stdin_bytes.empty(),
                "each input has its own arguments");
  for (const wire::BatchInput& input : request->inputs) {
    fuzz::promise(input.args.empty() || request->run.code, "arguments go with code");
    for (const std::string& argument : input.args) {
      fuzz::promise(argument.find('\0') == std::string::npos, "no NUL in an argument");
    }
  }
  const auto again = wire::parse_batch_request(body);
  fuzz::promise(again.has_value() && again->run == request->run && again->inputs == request->inputs,
                "parsing has no memory");
  return 0;
}
