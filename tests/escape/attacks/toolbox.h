// What the attacks share: verdicts from system calls, and the places where controls run.
// Every such place (namespace, cgroup, scratch directory) belongs to a child process and is gone
// when the call returns, so that a control never changes the host.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attack.h"

namespace glovebox::attacks {

using Body = std::function<Verdict()>;

Verdict succeeded(std::string text);
Verdict denied(std::string text, int err = 0);
Verdict kernel_lacks(std::string text);
Verdict not_tried(std::string text);
Verdict denied_by_errno(const std::string& what, int err);

// For calls made with good arguments: it worked, or it did not.
Verdict by_result(const std::string& what, long result);
// For calls made with deliberately wrong arguments: whatever is not a refusal (EPERM, EACCES,
// ENOSYS) proves that the kernel got as far as looking at the arguments.
Verdict by_reach(const std::string& what, long result);
// Opens and closes again, without reading or writing.
Verdict by_open(const std::string& path, int flags);

// Reads the canary a runner planted outside; success only if the bytes are the canary's.
inline constexpr const char* kCanaryMagic = "gbx-canary-";
Verdict read_canary(int dir_fd, const std::string& path);

std::string read_file(const std::string& path, size_t limit = 1 << 20);
bool write_file(const std::string& path, const std::string& text);
std::vector<std::string> list_dir(const std::string& path);
std::vector<int> visible_pids();
// Pids, other than our own, whose command line (NULs shown as spaces) contains `text`.
std::vector<int> pids_with_cmdline(const std::string& text);

// In a child process, with a deadline; a child killed by a signal counts as denied.
Verdict in_child(const Body& body, int seconds = 30);
// In a mount namespace whose changes stay in it.
Verdict in_mount_namespace(const Body& body);
// The same with an empty tmpfs, whose path is given to `body`.
Verdict in_scratch(const std::function<Verdict(const std::string&)>& body,
                   const std::string& options = "size=64m");
// In a network namespace of its own, with lo up.
Verdict in_net_namespace(const Body& body);
// As PID 2 of a pid namespace whose PID 1 is an ordinary root process with nothing to hide.
Verdict beside_init(const Body& body);
// As an unused host uid, without any privilege.
inline constexpr unsigned kNobodysUid = 1500000000;
bool become_nobody(unsigned uid = kNobodysUid);
// Enters a new user namespace as its root; what is asked of the host's root is then asked of it.
bool become_root_of_new_users();
// The two steps of a neighbour attack outside: `exhaust` in one process, and once it says that it
// is ready, `check` in another. `exhaust` is told the end by its stdin.
Verdict two_steps(const Body& exhaust, const Body& check);

// In a cgroup of its own; everything left in it is killed.
struct CgroupBounds {
  long memory_bytes = 512L << 20;
  long pids = 2000;
};
Verdict in_cgroup(CgroupBounds bounds, const Body& body);

bool bring_loopback_up();
// Adds an address to lo of the current network namespace.
bool add_loopback_address(const char* ipv4);
// Sends one netlink message and returns the errno of the answer: 0 acknowledged, -1 no answer.
int netlink_request(int protocol, const void* message, size_t size);

// A fresh directory below the working directory or /tmp, for attacks that need a place of their
// own.
std::string make_work_dir();
// Called by a child: it ends with its parent, also if that has ended already.
void end_with_parent(int parent);
// For the first step of a neighbour attack: says that it is ready and holds on until stdin ends.
Verdict stay_until_checked(const std::string& text);
// Blocks until the other end closes stdin, at most so many seconds.
void wait_for_stdin_end(int seconds);

}  // namespace glovebox::attacks
