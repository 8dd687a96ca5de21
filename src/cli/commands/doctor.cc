#include "cli/commands/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "cli/print.h"
#include "model/wall.h"
#include "probe/host.h"

namespace glovebox::cli {

namespace {

namespace json = boost::json;
using probe::EngineOutlook;
using probe::Finding;
using probe::State;

// Empty if the engine cannot run.
std::string_view grade_text(const EngineOutlook& engine) {
  if (!engine.usable()) return {};
  if (engine.name == engine_name(EngineKind::kProcess)) return grade_name(Grade::kProcess);
  return grade_name(engine.strength == EngineOutlook::Strength::kFull ? Grade::kJail
                                                                      : Grade::kJailPartial);
}

std::string padded(std::string_view text, std::size_t width) {
  std::string cell(text);
  if (cell.size() < width) cell.append(width - cell.size(), ' ');
  return cell;
}

std::string painted(std::string text, State state, Colour colour) {
  if (colour == Colour::kPlain) return text;
  const char* code = state == State::kOk     ? "\x1b[32m"
                     : state == State::kWarn ? "\x1b[33m"
                                             : "\x1b[31m";
  return code + text + "\x1b[0m";
}

std::string_view mark(State state) {
  return state == State::kOk ? "ok" : state == State::kWarn ? "warn" : "MISSING";
}

bool jail_is_usable(const DoctorReport& report) {
  return std::any_of(report.engines.begin(), report.engines.end(), [](const auto& engine) {
    return engine.name == engine_name(EngineKind::kJail) && engine.usable();
  });
}

bool stdout_wants_colour() {
  // https://no-color.org: set and not empty disables colour.
  const char* no_color = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
}

DoctorReport examine() {
  const probe::HostFacts host = probe::probe_host();
  return {.kernel = host.kernel.release + " " + host.kernel.machine,
          .findings = probe::explain_host(host),
          .engines = probe::judge_engines(host)};
}

}  // namespace

int doctor_command(std::span<const std::string> args) {
  bool as_json = false;
  const options::CommandLine command{
      .name = "glovebox doctor",
      .usage = {"[--json]"},
      .description =
          "Check what this host supports (namespaces, limits, filters, mounts, KVM), and show "
          "which "
          "engines and grades are available and how to fix what is missing. Makes no permanent "
          "changes.",
      .groups = {{"Options",
                  {{"--json", "", "print one JSON object instead of the table", &as_json}}}},
      .notes = "Exit status: 0 the jail engine is usable, 1 it is not, 2 bad usage.\n"};
  options::Arguments arguments;
  if (const auto status = parse_arguments(command, args, arguments)) return *status;
  // The probes fork: flush, so that no child inherits buffered output.
  std::fflush(nullptr);
  const DoctorReport report = examine();
  const Colour colour = stdout_wants_colour() ? Colour::kAnsi : Colour::kPlain;
  const std::string text = as_json ? doctor_json(report) : doctor_table(report, colour);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) != 0) return 1;
  return jail_is_usable(report) ? 0 : 1;
}

std::string doctor_table(const DoctorReport& report, Colour colour) {
  std::size_t area_width = 0;
  std::size_t name_width = 0;
  for (const Finding& finding : report.findings) {
    area_width = std::max(area_width, finding.area.size());
    name_width = std::max(name_width, finding.name.size());
  }
  std::string text;
  std::string_view previous_area;
  for (const Finding& finding : report.findings) {
    // Show the name of an area only on its first line.
    const std::string_view area = finding.area == previous_area ? std::string_view() : finding.area;
    previous_area = finding.area;
    text += padded(area, area_width) + "  " +
            painted(padded(mark(finding.state), 7), finding.state, colour) + "  " +
            padded(finding.name, name_width) + "  " + finding.detail + "\n";
    if (finding.state != State::kOk && !finding.fix.empty()) {
      text += padded("", area_width + 11) + "fix: " + finding.fix + "\n";
    }
  }
  text += "\n" + padded("engine", 9) + padded("usable", 8) + padded("grade", 14) + "why\n";
  for (const EngineOutlook& engine : report.engines) {
    const std::string_view grade = grade_text(engine);
    const State state = !engine.usable()                                    ? State::kMissing
                        : engine.strength == EngineOutlook::Strength::kFull ? State::kOk
                                                                            : State::kWarn;
    text += padded(engine.name, 9) +
            painted(padded(engine.usable() ? "yes" : "no", 8), state, colour) +
            padded(grade.empty() ? "-" : grade, 14) + engine.why + "\n";
  }
  return text;
}

std::string doctor_json(const DoctorReport& report) {
  json::array findings;
  for (const Finding& finding : report.findings) {
    findings.push_back({{"area", finding.area},
                        {"name", finding.name},
                        {"state", std::string(probe::state_name(finding.state))},
                        {"detail", finding.detail},
                        {"fix", finding.fix}});
  }
  json::array engines;
  for (const EngineOutlook& engine : report.engines) {
    const std::string_view grade = grade_text(engine);
    engines.push_back(
        {{"name", engine.name},
         {"usable", engine.usable()},
         {"grade", grade.empty() ? json::value(nullptr) : json::value(std::string(grade))},
         {"why", engine.why}});
  }
  const json::object whole = {{"kernel", report.kernel},
                              {"findings", std::move(findings)},
                              {"engines", std::move(engines)}};
  return json::serialize(whole) + "\n";
}

}  // namespace glovebox::cli
