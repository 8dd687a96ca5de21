#include "confine/filter_builder.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

namespace glovebox::confine {

FilterBuilder::FilterBuilder(std::string whose)
    : whose_(std::move(whose)), filter_(seccomp_init(SCMP_ACT_ERRNO(EPERM))) {
  if (filter_ == nullptr) error_ = ENOMEM;
  // Calls of another architecture have other numbers: a process that makes them is not a bug of
  // ours.
  set(SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  set(SCMP_FLTATR_CTL_TSYNC, 1);
  set(SCMP_FLTATR_CTL_OPTIMIZE, 2);
  for (const char* name : {"execve", "execveat"}) add(SCMP_ACT_KILL_PROCESS, name);
}

void FilterBuilder::set(scmp_filter_attr attribute, std::uint32_t value) {
  if (error_ == 0) note(seccomp_attr_set(filter_.get(), attribute, value), "attribute");
}

void FilterBuilder::add(std::uint32_t action, const char* name,
                        std::initializer_list<scmp_arg_cmp> when) {
  if (error_ != 0) return;
  const int number = seccomp_syscall_resolve_name(name);
  if (number < 0 && number != __NR_SCMP_ERROR) return;  // not on this architecture
  note(seccomp_rule_add_array(filter_.get(), action, number, static_cast<unsigned>(when.size()),
                              when.begin()),
       name);
}

void FilterBuilder::allow_memory() {
  for (const char* name : {"mmap", "mmap2", "mprotect"}) {
    allow(name, {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)});
  }
}

void FilterBuilder::allow_itself() {
  allow("prlimit64", {SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, 0), SCMP_A2(SCMP_CMP_EQ, 0)});
  allow("tgkill", {SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, static_cast<unsigned>(::getpid()))});
}

Result<> FilterBuilder::load() {
  if (error_ == 0) note(seccomp_load(filter_.get()), "load");
  if (error_ == 0) return {};
  return fail(Error::from_errno(whose_ + ": " + what_, error_));
}

void FilterBuilder::note(int done, const char* what) {
  if (done >= 0) return;
  error_ = -done;
  what_ = what;
}

}  // namespace glovebox::confine
