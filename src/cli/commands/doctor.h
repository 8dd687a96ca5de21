// `glovebox doctor`: prints what this host supports, which engines and grades are available, and
// how to fix what is missing. The checks are in probe/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "probe/engines.h"
#include "probe/finding.h"

namespace glovebox::cli {

// 0: the jail engine is usable; 1: it is not; 2: bad usage.
int doctor_command(std::span<const std::string> args);

struct DoctorReport {
  std::string kernel;  // "6.18.44 x86_64"
  probe::Findings findings;
  std::vector<probe::EngineOutlook> engines;
};

enum class Colour : std::uint8_t { kPlain, kAnsi };
std::string doctor_table(const DoctorReport& report, Colour colour);
// One line, with its newline.
std::string doctor_json(const DoctorReport& report);

}  // namespace glovebox::cli
