// A small test internet for attacks on the network: two network namespaces that `glovebox-attacks
// internet` creates and that end with this object. The sandbox is started on the machine in it, so
// that the gateway dials there and no packet leaves this computer.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::attack {

class TestInternet {
 public:
  // Fails on hosts where network namespaces cannot be created.
  static Result<std::unique_ptr<TestInternet>> make(const std::string& attacks_program);
  ~TestInternet();
  TestInternet(const TestInternet&) = delete;
  TestInternet& operator=(const TestInternet&) = delete;

  // The arguments that, put before a command's own, start it on that machine.
  std::vector<std::string> through() const;
  // The environment variables that a gateway there needs.
  std::vector<std::string> environment() const;

 private:
  TestInternet() = default;
  std::string program_;
  std::string box_;  // the process whose namespaces are the machine's
  UniqueFd input_;
  pid_t child_ = -1;
};

}  // namespace glovebox::attack
