#include "bench/profile/perf_counter.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace glovebox::bench {
namespace {

Result<std::uint64_t> tracepoint_id(int tracefs, const char* path) {
  const UniqueFd file(::openat(tracefs, path, O_RDONLY | O_CLOEXEC));
  if (!file) return fail(Error::from_errno(std::string("open ") + path + " in tracefs"));
  char text[32] = {};
  if (::read(file.get(), text, sizeof text - 1) <= 0) {
    return fail(Error::from_errno(std::string("read ") + path + " in tracefs"));
  }
  return std::strtoull(text, nullptr, 10);
}

std::string succeeded(std::initializer_list<long> calls) {
  std::string text;
  for (const long call : calls) {
    text += (text.empty() ? "(id == " : " || id == ") + std::to_string(call);
  }
  return text + ") && ret > 0";
}

// The condition that an event at a tracepoint must meet; empty: all count.
std::string filter_of(Event event) {
  switch (event) {
    case Event::kMessagesSent:
      return succeeded({SYS_sendmsg, SYS_sendto, SYS_sendmmsg});
    case Event::kMessagesReceived:
      return succeeded({SYS_recvmsg, SYS_recvfrom, SYS_recvmmsg});
    default:
      return "";
  }
}

Result<perf_event_attr> attributes_of(Event event, const Tracepoints* tracepoints) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.inherit = 1;
  attributes.disabled = 1;  // until its filter is set
  attributes.type = PERF_TYPE_SOFTWARE;
  switch (event) {
    case Event::kCpuTime:
      attributes.config = PERF_COUNT_SW_TASK_CLOCK;
      return attributes;
    case Event::kPageFaults:
      attributes.config = PERF_COUNT_SW_PAGE_FAULTS;
      return attributes;
    case Event::kContextSwitches:
      attributes.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
      return attributes;
    case Event::kSystemCalls:
    case Event::kMessagesSent:
    case Event::kMessagesReceived:
      break;
  }
  if (tracepoints == nullptr) return fail(Errc::kUnavailable, "there are no tracepoints");
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config =
      event == Event::kSystemCalls ? tracepoints->call_begins() : tracepoints->call_ends();
  return attributes;
}

}  // namespace

Result<Tracepoints> Tracepoints::find() {
  const UniqueFd context(::fsopen("tracefs", FSOPEN_CLOEXEC));
  if (!context || ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return fail(Error::from_errno("open tracefs"));
  }
  const UniqueFd tracefs(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
  if (!tracefs) return fail(Error::from_errno("mount tracefs"));
  Tracepoints found;
  TRY(found.call_begins_, tracepoint_id(tracefs.get(), "events/raw_syscalls/sys_enter/id"));
  TRY(found.call_ends_, tracepoint_id(tracefs.get(), "events/raw_syscalls/sys_exit/id"));
  return found;
}

Result<UniqueFd> open_counter(pid_t task, Event event, const Tracepoints* tracepoints) {
  TRY(perf_event_attr attributes, attributes_of(event, tracepoints));
  UniqueFd counter(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, task, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!counter) {
    if (errno == ESRCH) return fail(Errc::kNotFound, "the process has ended");
    return fail(Error::from_errno("perf_event_open"));
  }
  if (const std::string filter = filter_of(event);
      !filter.empty() && ::ioctl(counter.get(), PERF_EVENT_IOC_SET_FILTER, filter.c_str()) != 0) {
    return fail(Error::from_errno("filter a tracepoint"));
  }
  if (::ioctl(counter.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
    return fail(Error::from_errno("start a counter"));
  }
  return counter;
}

Result<std::uint64_t> read_counter(const UniqueFd& counter) {
  std::uint64_t value = 0;
  if (::read(counter.get(), &value, sizeof value) != sizeof value) {
    return fail(Error::from_errno("read a counter"));
  }
  return value;
}

}  // namespace glovebox::bench
