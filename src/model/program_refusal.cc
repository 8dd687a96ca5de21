#include "model/program_refusal.h"

#include <cerrno>

namespace glovebox {
namespace {

constexpr std::string_view kNotFoundCode = "program_not_found";
constexpr std::string_view kNotExecutableCode = "program_not_executable";

}  // namespace

std::optional<Error> refuse_to_execute(const std::string& program, int sys_errno) {
  if (sys_errno == ENOENT) {
    return Error(Errc::kInvalidArgument, "program not found: " + program, sys_errno);
  }
  if (sys_errno == EACCES || sys_errno == EPERM || sys_errno == ENOEXEC) {
    return Error(Errc::kInvalidArgument, "program is not executable: " + program, sys_errno);
  }
  return std::nullopt;
}

std::optional<ProgramRefusal> program_refusal_in(const Error& error) {
  if (error.code() != Errc::kInvalidArgument || error.sys_errno() == 0) return std::nullopt;
  return error.sys_errno() == ENOENT ? ProgramRefusal::kNotFound : ProgramRefusal::kNotExecutable;
}

std::string_view refusal_code(ProgramRefusal refusal) {
  return refusal == ProgramRefusal::kNotFound ? kNotFoundCode : kNotExecutableCode;
}

std::optional<int> exit_status_of_refusal(std::string_view code) {
  if (code == kNotFoundCode) return kExitProgramNotFound;
  if (code == kNotExecutableCode) return kExitProgramNotExecutable;
  return std::nullopt;
}

}  // namespace glovebox
