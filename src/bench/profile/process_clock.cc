#include "bench/profile/process_clock.h"

#include <sys/resource.h>
#include <time.h>

namespace glovebox::bench {
namespace {

std::chrono::nanoseconds duration_of(const timespec& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::chrono::nanoseconds duration_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

Result<std::chrono::nanoseconds> process_cpu_time(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) {
    return fail(Errc::kNotFound, "the process has ended");
  }
  return duration_of(time);
}

std::chrono::nanoseconds own_cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  rusage children{};
  ::getrusage(RUSAGE_CHILDREN, &children);
  return duration_of(time) + duration_of(children.ru_utime) + duration_of(children.ru_stime);
}

}  // namespace glovebox::bench
