#include "wire/runs/batch_request.h"

#include <boost/json.hpp>

#include "wire/guest/guest_frames.h"
#include "wire/json/object_reader.h"
#include "wire/json/strict_json.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

Result<std::vector<BatchInput>> read_inputs(ObjectReader& fields, const RunRequest& run) {
  const json::value* value = fields.take("inputs");
  if (value == nullptr) return fields.bad("inputs", "is missing");
  const json::array* list = value->if_array();
  if (list == nullptr || list->empty() || list->size() > kMaxBatchInputs) {
    return fields.bad("inputs",
                      "must be a list of 1 to " + std::to_string(kMaxBatchInputs) + " objects");
  }
  std::vector<BatchInput> inputs;
  inputs.reserve(list->size());
  for (const json::value& element : *list) {
    const std::string at = "inputs[" + std::to_string(inputs.size()) + "]";
    TRY(ObjectReader one, ObjectReader::open(element, at));
    BatchInput input;
    TRY(input.stdin_bytes, read_stdin(one));
    TRY(input.args, one.texts("args", kMaxExecStrings, kMaxExecBytes));
    TRY_OK(one.finish());
    // As one request: the same bounds, with its arguments.
    if (!input.args.empty()) {
      if (!run.code) return one.bad("args", "goes with code; command has its own arguments");
      RunRequest whole;
      whole.args = input.args;
      whole.env = run.env;
      TRY_OK(check_sizes(one, whole));
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace

Result<BatchRequest> parse_batch_request(std::string_view body) {
  TRY(const json::value document, parse_strict_json(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  BatchRequest request;
  TRY_OK(read_run_fields(fields, request.run));
  TRY(request.inputs, read_inputs(fields, request.run));
  TRY(const auto parallel, fields.whole("parallel", 1, kMaxBatchParallel));
  if (parallel) request.parallel = static_cast<std::uint32_t>(*parallel);
  TRY_OK(fields.finish());
  TRY_OK(check_run(fields, request.run));
  return request;
}

}  // namespace glovebox::wire
