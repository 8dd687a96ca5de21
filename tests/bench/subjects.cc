#include "subjects.h"

#include <unistd.h>

#include <filesystem>

#include "bench/baselines.h"
#include "bench/oci_bundle.h"

namespace glovebox::bench::cold {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPath = "PATH=/usr/local/bin:/usr/bin:/bin";
const std::vector<std::string> kTrue = {"/bin/true"};
const std::vector<std::string> kPython = {"/usr/bin/python3", "-c", "print(1+1)"};

Command bwrap(const Places& places, const std::vector<std::string>& program) {
  Command command = bench::bwrap(program, places.etc);
  command.env = {kPath};
  return command;
}

Subject subject(std::string name, std::string baseline, Command command, unsigned every = 1) {
  Subject one;
  one.name = std::move(name);
  one.baseline = std::move(baseline);
  one.every = every;
  if (Trial trial = try_once(command); !trial.worked) one.skipped = trial.message;
  one.run = [command = std::move(command)] { return run_timed(command); };
  return one;
}

Subject namespaces_alone() {
  Subject one;
  one.name = "floor-namespaces";
  one.run = empty_namespaces_timed;
  if (const auto tried = empty_namespaces_timed(); !tried) one.skipped = tried.error().message();
  return one;
}

}  // namespace

Command glovebox_run(const Places& places, const std::string& launcher,
                     std::vector<std::string> what) {
  Command command;
  command.argv = {places.bin_dir + "/glovebox", "run"};
  command.argv.insert(command.argv.end(), what.begin(), what.end());
  command.env = {kPath, "HOME=/root", "GLOVEBOX_LAUNCHER=" + launcher};
  return command;
}

std::vector<Subject> single_subjects(const Places& places) {
  std::vector<Subject> subjects;
  subjects.push_back(subject("floor-true", "", {kTrue, {kPath}}));
  subjects.push_back(namespaces_alone());
  subjects.push_back(subject("bwrap", "", bwrap(places, kTrue)));
  subjects.push_back(
      subject("glovebox-cold", "bwrap", glovebox_run(places, "private", {"--exec", "/bin/true"})));
  subjects.push_back(
      subject("glovebox-in-launcher", "bwrap",
              glovebox_run(places, places.launcher_socket, {"--exec", "/bin/true"})));
  subjects.push_back(subject("runc", "bwrap", runc_run(places.bundle), 10));
  subjects.push_back(subject("python-bwrap", "", bwrap(places, kPython), 4));
  subjects.push_back(subject("python-glovebox-cold", "python-bwrap",
                             glovebox_run(places, "private", {"-c", "print(1+1)"}), 4));
  subjects.push_back(subject("python-glovebox-in-launcher", "python-bwrap",
                             glovebox_run(places, places.launcher_socket, {"-c", "print(1+1)"}),
                             4));
  return subjects;
}

// The same three ways under another name.
std::vector<Subject> named_subjects(const Places& places, const std::string& prefix) {
  std::vector<Subject> subjects;
  subjects.push_back(subject(prefix + "-bwrap", "", bwrap(places, kTrue)));
  subjects.push_back(subject(prefix + "-glovebox-cold", prefix + "-bwrap",
                             glovebox_run(places, "private", {"--exec", "/bin/true"})));
  subjects.push_back(
      subject(prefix + "-glovebox-in-launcher", prefix + "-bwrap",
              glovebox_run(places, places.launcher_socket, {"--exec", "/bin/true"})));
  return subjects;
}

std::vector<Subject> burst_subjects(const Places& places) {
  constexpr unsigned kInARow = 20;
  std::vector<Subject> subjects = named_subjects(places, "burst");
  for (Subject& one : subjects) one.burst = kInARow;
  return subjects;
}

std::vector<Subject> quiet_subjects(const Places& places) {
  return named_subjects(places, "quiet");
}
Result<std::string> etc_of_sandboxes() {
  std::error_code error;
  fs::path newest;
  fs::file_time_type newest_time{};
  for (const auto& entry : fs::directory_iterator("/var/lib/glovebox/layers", error)) {
    const fs::file_time_type time = entry.last_write_time(error);
    if (!fs::is_directory(entry.path() / "etc", error)) continue;
    if (newest.empty() || time > newest_time) {
      newest = entry.path() / "etc";
      newest_time = time;
    }
  }
  if (newest.empty()) return fail(Errc::kNotFound, "no layer in /var/lib/glovebox/layers");
  return newest.string();
}

}  // namespace glovebox::bench::cold
