// Common parts of the seccomp filters of our unprivileged programs: an allow list, everything else
// fails with EPERM, starting a program kills the process, and writable memory is never executable.
// Each filter adds its own calls.
#pragma once

#include <seccomp.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "base/result.h"

namespace glovebox::confine {

inline constexpr std::uint64_t kLow32 = 0xffffffffull;  // the kernel looks at no more of an int

class FilterBuilder {
 public:
  // Error messages begin with `whose`.
  explicit FilterBuilder(std::string whose);

  // A call that this architecture does not have is ignored.
  void add(std::uint32_t action, const char* name, std::initializer_list<scmp_arg_cmp> when = {});
  void allow(const char* name, std::initializer_list<scmp_arg_cmp> when = {}) {
    add(SCMP_ACT_ALLOW, name, when);
  }
  void allow_memory();
  // Reading its own limits, and abort().
  void allow_itself();
  // Also for existing threads.
  Result<> load();

 private:
  struct Release {
    void operator()(void* filter) const { seccomp_release(filter); }
  };
  void set(scmp_filter_attr attribute, std::uint32_t value);
  void note(int done, const char* what);

  std::string whose_;
  std::unique_ptr<void, Release> filter_;
  int error_ = 0;
  std::string what_ = "begin";
};

}  // namespace glovebox::confine
