// Programs on the host that sandboxes or benchmarks use. They are run, not only looked for, except
// for the package installers, which take a second to print their version.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probe/finding.h"

namespace glovebox::probe {

struct ProgramFact {
  std::string name{};
  std::string path{};     // empty: not found
  std::string version{};  // its own first line; empty: it did not run
};

struct LanguageFact {
  const char* name;
  const char* path;     // a file that is there if it is installed
  const char* package;  // of Debian
};

struct ProgramFacts {
  std::vector<ProgramFact> runtimes{};  // python3, bash, node, as sandboxes see them, below /usr
  std::vector<ProgramFact> bench{};     // only `make bench` wants these
  std::string pip{};                    // where it is, as sandboxes see it; empty: nowhere
  std::string npm{};
  std::vector<std::string> absent_modules{};     // of those that the template python-data imports
  std::vector<LanguageFact> absent_languages{};  // of code contexts
};

ProgramFacts probe_programs();
void explain(const ProgramFacts& facts, Findings& findings);

// Where a module of that name is below `usr`, of whichever Python 3; empty: there is none.
std::string find_python_module(const std::string& usr, const std::string& name);

// The first non-empty line, shortened, with control characters taken out: it goes to a terminal.
std::string first_line(std::string_view output);

}  // namespace glovebox::probe
