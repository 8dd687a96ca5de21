// The body of POST /v1/functions/invoke: untrusted, from any client with a key; what is made of it
// goes into a sandbox as JSON.
#include <boost/json.hpp>
#include <string>

#include "fuzz_target.h"
#include "wire/functions/function_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto request = wire::parse_function_request(body);
  if (!request) {
    fuzz::promise(request.error().code() == Errc::kInvalidArgument, "it is the caller's mistake");
    fuzz::promise(!request.error().message().empty(), "and is told");
    return 0;
  }
  fuzz::promise(request->run.profile.wall == wire::time_of(request->call), "one time");
  fuzz::promise(wire::time_of(request->call) <= wire::kMaxFunctionTime, "which has a bound");
  const wire::EncodedCall encoded = wire::encode_call(request->call, 128);
  boost::system::error_code broken;
  const auto call = boost::json::parse(encoded.code, broken, {}, {.max_depth = 200});
  fuzz::promise(!broken && call.is_object(), "a call is an object of JSON");
  const boost::json::object& words = call.get_object();
  fuzz::promise(words.at("code") == boost::json::value(request->call.code), "with the code in it");
  const std::string file(words.at("file").as_string());
  fuzz::promise(file[0] != '/' && file.find("..") == file.npos, "a file stays where it is put");
  const boost::json::value* event = words.at("event").is_object()
                                        ? words.at("event").get_object().if_contains("__timeout")
                                        : nullptr;
  fuzz::promise(event == nullptr, "__timeout is taken out");
  return 0;
}
