#include "node/runs/start_error.h"

#include <cerrno>
#include <string>

#include "model/program_refusal.h"

namespace glovebox::node {
namespace {

// A mistake in the request, as opposed to a failure of ours.
bool is_caller_mistake(int sys_errno) {
  return sys_errno == ENOENT || sys_errno == EACCES || sys_errno == ENOEXEC ||
         sys_errno == ENOTDIR || sys_errno == EISDIR || sys_errno == ELOOP || sys_errno == E2BIG ||
         sys_errno == ENAMETOOLONG;
}

}  // namespace

Error start_error(const RunJob& job, StartMode mode, const std::string& interpreter,
                  const wire::StartFailed& failed) {
  std::string what = failed.step;
  const bool runs_code = job.job && job.image && mode == StartMode::kColdRuntime;
  if (what == wire::kExecuteStep && (job.exec || runs_code)) {
    const std::string& program = job.exec ? job.exec->argv[0] : interpreter;
    if (auto refused = refuse_to_execute(program, failed.sys_errno)) return *refused;
    what = "execute " + program;
  }
  if (what == wire::kEnterDirectoryStep) {
    what += " " + (job.exec ? job.exec->workdir : job.job->workdir);
  }
  Error error = Error::from_errno(what, failed.sys_errno).context("start the program");
  if (!is_caller_mistake(failed.sys_errno)) return error;
  return Error(Errc::kInvalidArgument, error.message());
}

}  // namespace glovebox::node
