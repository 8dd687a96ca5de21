// A line that a handler's guest half wrote, or the handler itself: whatever it says, the answer is
// one line of JSON whose other fields are ours.
#include <boost/json.hpp>
#include <string>

#include "base/base64.h"
#include "fuzz_target.h"
#include "wire/functions/function_answer.h"
#include "wire/functions/function_view.h"

namespace {

void judge(const std::string& line) {
  using namespace glovebox;
  wire::RunAnswer answer;
  answer.id = "rn";
  answer.results = {line};
  const std::string text = wire::function_exit_json(answer, {.request_id = "r", .timeout = {}});
  fuzz::promise(text.find('\n') == text.size() - 1, "an answer is one line");
  boost::system::error_code broken;
  const auto parsed = boost::json::parse(text, broken, {}, {.max_depth = 200});
  fuzz::promise(!broken && parsed.is_object(), "and an object");
  const boost::json::object& object = parsed.get_object();
  fuzz::promise(object.at("id") == "rn", "whose rest is ours");
  fuzz::promise(object.at("exit_code") == (object.at("error").is_null() ? 0 : 1),
                "and says success only of a value");
  fuzz::promise(object.at("error").is_null() || object.at("result").is_null(), "one of the two");
  const auto view = wire::view_function(text);
  fuzz::promise(view.has_value(), "which can be shown");
  fuzz::promise(view->out.find('\n') == view->out.size() - 1, "on one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  judge(bytes);
  const std::string encoded = glovebox::base64_encode(bytes);
  judge("{\"type\":\"function\",\"value\":\"" + encoded + "\"}");
  judge("{\"type\":\"function\",\"error\":\"" + encoded + "\"}");
  return 0;
}
