#include "cli/client_program.h"

#include <unistd.h>

#include <vector>

#include "cli/print.h"
#include "engine/launcher_client.h"

namespace glovebox::cli {
namespace {

int exec_program(const std::string& name, std::vector<std::string> args) {
  std::string program = engine::program_path(name);
  std::vector<char*> argv = {program.data()};
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  return failure(Error::from_errno("execute " + program));
}

}  // namespace

int exec_client_program(const std::string& name, std::span<const std::string> args) {
  std::vector<std::string> words = {name};
  words.insert(words.end(), args.begin(), args.end());
  return exec_program("glovebox-client", std::move(words));
}

int exec_bench_program(std::span<const std::string> args) {
  return exec_program("glovebox-bench", {args.begin(), args.end()});
}

}  // namespace glovebox::cli
