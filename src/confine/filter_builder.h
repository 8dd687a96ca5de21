// What the filters of our unprivileged programs have in common: a list of what is allowed, all else
// fails with EPERM, starting a program ends the process, and memory that is written is never
// executed. Which calls are on the list is said by each.
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
  // `whose` begins the message of an error.
  explicit FilterBuilder(std::string whose);

  // A name that this architecture has not is passed over.
  void add(std::uint32_t action, const char* name, std::initializer_list<scmp_arg_cmp> when = {});
  void allow(const char* name, std::initializer_list<scmp_arg_cmp> when = {}) {
    add(SCMP_ACT_ALLOW, name, when);
  }
  void allow_memory();
  // Reading its own limits, and abort().
  void allow_itself();
  // Threads that exist get it too.
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
