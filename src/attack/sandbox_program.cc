// The usual way to run a sandbox for an attack: the `glovebox` program, as a user would call it.
#include <algorithm>
#include <boost/json.hpp>

#include "attack/attack_runner.h"
#include "attack/json_text.h"

namespace glovebox::attack {
namespace {

namespace json = boost::json;

bool flag_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

Result<SandboxReport> report_of(const CommandResult& finished) {
  SandboxReport report{.exit_code = finished.exit_code,
                       .out = finished.out,
                       .err = finished.err,
                       .hung = finished.hung};
  if (finished.hung) return report;
  boost::system::error_code error;
  const json::value value = json::parse(finished.out, error);
  if (error || !value.is_object()) {
    // Glovebox itself failed and said so in one line; that is an answer too.
    if (finished.exit_code == kGloveboxFailed) return report;
    return fail(Errc::kProtocol, "glovebox run --json printed no object (exit status " +
                                     std::to_string(finished.exit_code) + "): " + finished.err);
  }
  const json::object& object = value.get_object();
  const json::value* code = object.if_contains("exit_code");
  if (code != nullptr && code->is_int64()) report.exit_code = static_cast<int>(code->get_int64());
  report.out = json_text(object, "stdout");
  report.err = json_text(object, "stderr") + finished.err;
  if (const json::value* why = object.if_contains("error"); why != nullptr && why->is_object()) {
    report.error_code = json_text(why->get_object(), "code");
    report.error_message = json_text(why->get_object(), "message");
  }
  report.timed_out = flag_of(object, "timed_out");
  report.oom_killed = flag_of(object, "oom_killed");
  report.truncated = flag_of(object, "truncated");
  return report;
}

}  // namespace

RunSandboxed sandboxes_of_program(std::string glovebox, std::string attacks, std::string engine) {
  return [=](const SandboxRequest& request) -> Result<SandboxReport> {
    const bool networked =
        std::find(request.flags.begin(), request.flags.end(), "--net") != request.flags.end();
    if (networked && engine == "process") {
      return fail(Errc::kUnsupported, "the process engine has no network");
    }
    Command command{
        .argv = {glovebox, "run", "--engine", engine, "--file", attacks + ":/home/user/a"},
        .inherits = request.inherits,
        .limit = request.limit,
        .when_ready = request.when_ready};
    // With --json all output comes at the end, too late to be told that a guest is ready.
    if (!request.when_ready) command.argv.push_back("--json");
    command.argv.insert(command.argv.end(), request.flags.begin(), request.flags.end());
    command.argv.insert(command.argv.end(), {"--exec", request.program, "--"});
    command.argv.insert(command.argv.end(), request.arguments.begin(), request.arguments.end());
    TRY(const CommandResult finished, run_command(command));
    if (request.when_ready) {
      return SandboxReport{.exit_code = finished.exit_code,
                           .out = finished.out,
                           .err = finished.err,
                           .hung = finished.hung};
    }
    return report_of(finished);
  };
}

}  // namespace glovebox::attack
