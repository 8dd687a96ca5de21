// A program that a sandbox could not execute because there is none of that name, or because it is
// not executable: the caller's mistake, which every surface reports in the same words and with the
// exit status of a shell.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace glovebox {

inline constexpr int kExitProgramNotExecutable = 126;
inline constexpr int kExitProgramNotFound = 127;

enum class ProgramRefusal : std::uint8_t { kNotFound, kNotExecutable };

// What execve's `sys_errno` means for the program; empty: something else is wrong. The error is
// kInvalidArgument and keeps `sys_errno`, which no other error of the caller's has: see below.
std::optional<Error> refuse_to_execute(const std::string& program, int sys_errno);

// Whether `error`, as the start of a program returned it, was made by refuse_to_execute().
std::optional<ProgramRefusal> program_refusal_in(const Error& error);
// Its stable code in answers: "program_not_found", "program_not_executable".
std::string_view refusal_code(ProgramRefusal refusal);

// 127 or 126 for such a code; empty: another code.
std::optional<int> exit_status_of_refusal(std::string_view code);

}  // namespace glovebox
