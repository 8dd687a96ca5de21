#include "probe/programs.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "probe/attempt.h"
#include "probe/kernel_text.h"

namespace glovebox::probe {

namespace {

constexpr std::size_t kMaxLine = 60;
constexpr std::chrono::milliseconds kProgramDeadline{400};
// Of src/launcher/templates/python-data.toml, those that are not of Python itself.
constexpr const char* kDataModules[] = {"numpy", "pandas", "matplotlib"};

// In a helper, which becomes the program's parent: "<path> --version", without our environment or
// input. Killed with the helper when it takes too long.
Attempt ask_version(const std::string& path) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Attempt::failed("pipe");
  const pid_t child = fork_into(0);
  if (child < 0) return Attempt::failed("fork");
  if (child == 0) {
    const int nothing = ::open("/dev/null", O_RDWR);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(nothing, STDERR_FILENO);
    std::string argument = "--version";
    std::string program = path;
    char* const argv[] = {program.data(), argument.data(), nullptr};
    char* const environment[] = {nullptr};
    ::execve(program.c_str(), argv, environment);
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string output;
  char buffer[512];
  for (ssize_t n = 0; output.size() < 4096 && (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    output.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  if (wait_for_child(child) != 0) return Attempt::failed("it cannot be run", -1);
  Attempt asked = Attempt::worked();
  asked.note = first_line(output);
  return asked;
}

ProgramFact look_for(const std::string& name, const std::vector<std::string>& directories) {
  ProgramFact fact{.name = name};
  for (const std::string& directory : directories) {
    const std::string path = directory + "/" + name;
    if (::access(path.c_str(), X_OK) != 0) continue;
    fact.path = path;
    fact.version = attempt_in_helper([&] { return ask_version(path); }, kProgramDeadline).note;
    break;
  }
  return fact;
}

std::string find_npm() {
  for (const char* path : {"/usr/local/bin/npm", "/usr/bin/npm"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  return {};
}

// Languages of code contexts beyond the runtimes: what shows that they are here, and their
// packages.
constexpr LanguageFact kMoreLanguages[] = {
    {"typescript", "/usr/share/nodejs/typescript/package.json", "node-typescript"},
    {"r", "/usr/bin/Rscript", "r-base-core"},
    {"java", "/usr/bin/jshell", "openjdk-17-jdk-headless"},
};

void explain_runtime(const ProgramFact& fact, Findings& findings) {
  Finding finding{"programs", fact.name, State::kOk, "", ""};
  const std::string package = fact.name == "node" ? "nodejs" : fact.name;
  if (fact.path.empty()) {
    finding.state = State::kWarn;
    finding.detail =
        "not at /usr/bin/" + fact.name + ": this language is not available in the default template";
    finding.fix = "sudo apt install " + package;
  } else if (fact.version.empty()) {
    finding.state = State::kWarn;
    finding.detail = fact.path + " cannot be run";
    finding.fix = "sudo apt install --reinstall " + package;
  } else {
    finding.detail = fact.path + ", " + fact.version;
  }
  findings.push_back(std::move(finding));
}

// Without them sandboxes work, and only sets of packages cannot be installed.
void explain_installers(const ProgramFacts& facts, Findings& findings) {
  const auto add = [&](const char* name, const std::string& path, const char* package,
                       const char* whose) {
    Finding finding{"programs", name, State::kOk, path, ""};
    if (path.empty()) {
      finding.state = State::kWarn;
      finding.detail = std::string("not installed: no packages for ") + whose + " can be installed";
      finding.fix = std::string("sudo apt install ") + package;
    }
    findings.push_back(std::move(finding));
  };
  add("pip", facts.pip, "python3-pip", "Python's");
  add("npm", facts.npm, "npm", "Node's");
}

// Without them every other language works.
void explain_more_languages(const std::vector<LanguageFact>& absent, Findings& findings) {
  Finding finding{"programs", "more languages", State::kOk,
                  "code contexts in typescript, r and java", ""};
  if (!absent.empty()) {
    std::string names;
    finding.fix = "sudo apt install";
    for (const LanguageFact& one : absent) {
      names += (names.empty() ? "" : ", ") + std::string(one.name);
      finding.fix += " " + std::string(one.package);
    }
    finding.state = State::kWarn;
    finding.detail = "not installed: " + names + "; code contexts in them cannot be created";
  }
  findings.push_back(std::move(finding));
}

// Without them every other template works.
void explain_data_modules(const std::vector<std::string>& absent, Findings& findings) {
  Finding finding{"programs", "python-data", State::kOk,
                  "numpy, pandas and matplotlib are installed", ""};
  if (!absent.empty()) {
    std::string modules;
    finding.fix = "sudo apt install";
    for (const std::string& name : absent) {
      modules += (modules.empty() ? "" : ", ") + name;
      finding.fix += " python3-" + name;
    }
    finding.state = State::kWarn;
    finding.detail = "not installed: " + modules + ", which the template python-data imports";
  }
  findings.push_back(std::move(finding));
}

}  // namespace

std::string find_python_module(const std::string& usr, const std::string& name) {
  namespace fs = std::filesystem;
  for (const char* lib : {"/local/lib", "/lib"}) {
    std::error_code error;
    for (fs::directory_iterator at(usr + lib, error), end; !error && at != end;
         at.increment(error)) {
      if (!at->path().filename().string().starts_with("python3")) continue;
      for (const char* packages : {"dist-packages", "site-packages"}) {
        const std::string path = (at->path() / packages / name).string();
        if (::access((path + "/__init__.py").c_str(), R_OK) == 0) return path;
      }
    }
  }
  return {};
}

std::string first_line(std::string_view output) {
  for (const std::string_view line : split(output, '\n')) {
    std::string clean;
    for (const char c : trim(line)) {
      if (c >= ' ' && c < 0x7f && clean.size() < kMaxLine) clean += c;
    }
    if (!clean.empty()) return clean;
  }
  return {};
}

ProgramFacts probe_programs() {
  ProgramFacts facts;
  for (const char* name : {"python3", "bash", "node"}) {
    facts.runtimes.push_back(look_for(name, {"/usr/bin"}));
  }
  const std::vector<std::string> everywhere = {"/usr/bin", "/usr/sbin", "/usr/local/bin"};
  for (const char* name : {"bwrap", "runc", "docker"}) {
    facts.bench.push_back(look_for(name, everywhere));
  }
  facts.pip = find_python_module("/usr", "pip");
  for (const char* name : kDataModules) {
    if (find_python_module("/usr", name).empty()) facts.absent_modules.emplace_back(name);
  }
  for (const LanguageFact& one : kMoreLanguages) {
    if (::access(one.path, F_OK) != 0) facts.absent_languages.push_back(one);
  }
  facts.npm = find_npm();
  return facts;
}

void explain(const ProgramFacts& facts, Findings& findings) {
  for (const ProgramFact& fact : facts.runtimes) explain_runtime(fact, findings);
  explain_installers(facts, findings);
  explain_data_modules(facts.absent_modules, findings);
  explain_more_languages(facts.absent_languages, findings);
  std::string here;
  std::string absent;
  for (const ProgramFact& fact : facts.bench) {
    std::string& list = fact.version.empty() ? absent : here;
    list += (list.empty() ? "" : ", ") + fact.name;
  }
  Finding finding{"programs", "for make bench", State::kOk, here, ""};
  if (!absent.empty()) {
    finding.state = State::kWarn;
    finding.detail = "not installed: " + absent + "; only make bench uses them";
    finding.fix = "sudo apt install bubblewrap runc";
  }
  findings.push_back(std::move(finding));
}

}  // namespace glovebox::probe
