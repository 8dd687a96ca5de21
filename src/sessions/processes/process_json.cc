#include "sessions/processes/process_json.h"

#include <boost/json.hpp>

#include "base/base64.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "sessions/processes/process_label.h"

namespace glovebox::sessions {
namespace {

namespace json = boost::json;

json::object stream_json(const wire::StreamState& state) {
  return {{"begin", state.begin}, {"end", state.end}};
}

}  // namespace

void add_data(json::object& object, std::string_view bytes) {
  if (is_utf8(bytes)) {
    object["data"] = bytes;
  } else {
    object["data_base64"] = base64_encode(bytes);
  }
}

int exit_code_of(const wire::ProcessEnd& end) {
  return end.signal != 0 ? 128 + end.signal : end.code;
}

json::object process_json(const node::ProcessInfo& process) {
  const ProcessLabel label = decode_label(process.label);
  const bool is_context = process.kind != wire::ProcessKind::kProgram;
  json::object object{{"process", process.number},
                      {"pid", process.pid},
                      {"kind", is_context ? "context" : "program"},
                      {"cmd", shown_command(label)},
                      {"user", label.user},
                      {"cwd", label.cwd},
                      {"terminal", process.terminal},
                      {"state", process.ended ? "exited" : "running"},
                      {"exit_code", nullptr},
                      {"signal", nullptr},
                      {"oom_killed", false},
                      {"started_at", utc_text(static_cast<std::int64_t>(process.started_ms))},
                      {"attached", process.attached},
                      {"stdout", stream_json(process.out)},
                      {"stderr", stream_json(process.err)}};
  if (is_context) object["context"] = label.context;
  if (process.ended) {
    object["exit_code"] = exit_code_of(*process.ended);
    if (process.ended->signal != 0) object["signal"] = process.ended->signal;
    object["oom_killed"] = process.ended->oom_killed;
  }
  return object;
}

}  // namespace glovebox::sessions
