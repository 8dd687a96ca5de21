// The places where controls run: child processes, namespaces and cgroups of their own.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <sstream>

#include "toolbox.h"

namespace glovebox::attacks {
namespace {

void send_verdict(int fd, const Verdict& verdict) {
  const int head[2] = {verdict.code, verdict.err};
  std::string bytes(reinterpret_cast<const char*>(head), sizeof head);
  bytes += verdict.text.substr(0, 2000);  // below PIPE_BUF: one write
  (void)!write(fd, bytes.data(), bytes.size());
}

// Reads until the writer is gone or the time is up.
std::string drain(int fd, std::chrono::seconds limit) {
  std::string bytes;
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return bytes;
    pollfd poller{fd, POLLIN, 0};
    const int ready = poll(&poller, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return bytes;
    char buffer[4096];
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count <= 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(count));
    // A child of the child may keep the pipe open; one verdict is one write, so this is all of it.
    if (bytes.size() >= 2 * sizeof(int)) return bytes;
  }
}

Verdict read_verdict(const std::string& bytes, int status) {
  if (bytes.size() >= 2 * sizeof(int)) {
    int head[2];
    memcpy(head, bytes.data(), sizeof head);
    return {head[0], bytes.substr(sizeof head), head[1]};
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return denied(std::string("killed by SIG") + sigabbrev_np(signal),
                  signal == SIGSYS ? EPERM : 0);
  }
  return not_tried("the child ended without a verdict");
}

}  // namespace

Verdict in_child(const Body& body, int seconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return not_tried("pipe");
  const pid_t child = fork();
  if (child < 0) return not_tried(std::string("fork: ") + strerror(errno));
  if (child == 0) {
    close(ends[0]);
    send_verdict(ends[1], body());
    _exit(0);
  }
  close(ends[1]);
  const std::string bytes = drain(ends[0], std::chrono::seconds(seconds));
  close(ends[0]);
  // The verdict is in, or will never be: whatever the child still does is not needed.
  if (!bytes.empty()) kill(child, SIGKILL);
  int status = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) kill(child, SIGKILL);
    const timespec nap{0, 1000000};
    nanosleep(&nap, nullptr);
  }
  return read_verdict(bytes, status);
}

Verdict in_mount_namespace(const Body& body) {
  return in_child([&] {
    if (unshare(CLONE_NEWNS) != 0) return not_tried("unshare mount");
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      return not_tried("make mounts private");
    }
    return body();
  });
}

Verdict in_scratch(const std::function<Verdict(const std::string&)>& body,
                   const std::string& options) {
  char dir[] = "/tmp/gbx-attack-scratch-XXXXXX";
  if (mkdtemp(dir) == nullptr) return not_tried("mkdtemp");
  const Verdict verdict = in_mount_namespace([&] {
    if (mount("scratch", dir, "tmpfs", 0, options.c_str()) != 0) return not_tried("mount tmpfs");
    chmod(dir, 0777);
    if (chdir(dir) != 0) return not_tried("chdir");
    return body(dir);
  });
  rmdir(dir);
  return verdict;
}

Verdict in_net_namespace(const Body& body) {
  return in_child([&] {
    if (unshare(CLONE_NEWNET) != 0) return not_tried("unshare net");
    if (!bring_loopback_up()) return not_tried("lo up");
    return body();
  });
}

Verdict beside_init(const Body& body) {
  return in_child([&] {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) return not_tried("unshare pid");
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      return not_tried("make mounts private");
    }
    // The child of the unsharing process is PID 1; the body is PID 2, its child.
    return in_child([&] {
      if (getpid() != 1) return not_tried("not PID 1");
      if (mount("proc", "/proc", "proc", 0, nullptr) != 0) return not_tried("mount proc");
      return in_child(body);
    });
  });
}

bool become_nobody(unsigned uid) {
  return setgroups(0, nullptr) == 0 && setresgid(uid, uid, uid) == 0 &&
         setresuid(uid, uid, uid) == 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

bool become_root_of_new_users() {
  return unshare(CLONE_NEWUSER) == 0 && write_file("/proc/self/setgroups", "deny") &&
         write_file("/proc/self/uid_map", "0 0 1") && write_file("/proc/self/gid_map", "0 0 1");
}

Verdict two_steps(const Body& exhaust, const Body& check) {
  int input[2], output[2];
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) return not_tried("pipe");
  const pid_t child = fork();
  if (child < 0) return not_tried("fork");
  if (child == 0) {
    dup2(input[0], 0);
    dup2(output[1], 1);
    for (const int fd : {input[0], input[1], output[0], output[1]}) close(fd);
    const Verdict verdict = exhaust();
    dprintf(1, "%s\n", verdict.text.c_str());
    _exit(verdict.code);
  }
  close(input[0]);
  close(output[1]);
  char line[256] = {};
  const bool said = read(output[0], line, sizeof line - 1) > 0;
  Verdict verdict;
  if (said && strncmp(line, "ready", 5) == 0) {
    verdict = in_child(check);
  } else {
    line[strcspn(line, "\n")] = '\0';
    verdict = not_tried(std::string("the first step said: ") + line);
  }
  close(input[1]);
  waitpid(child, nullptr, 0);
  close(output[0]);
  return verdict;
}

namespace {

// Where controller `name` can be used, and whether in the version 1 or the version 2 way.
struct Controller {
  std::string root;
  bool v2 = false;
};

Controller find_controller(const std::string& name) {
  std::istringstream lines(read_file("/proc/self/mounts"));
  std::string source, where, type, options, rest;
  Controller unified;
  while (lines >> source >> where >> type >> options && std::getline(lines, rest)) {
    const std::string padded = "," + options + ",";
    if (type == "cgroup" && padded.find("," + name + ",") != std::string::npos)
      return {where, false};
    if (type == "cgroup2") {
      const std::string have = " " + read_file(where + "/cgroup.controllers") + " ";
      if (have.find(name) != std::string::npos) unified = {where, true};
    }
  }
  return unified;
}

class ControlCgroup {
 public:
  explicit ControlCgroup(const std::string& root)
      : path_(root + "/gbxattackcontrol-" + std::to_string(getpid())) {
    if (root.empty() || mkdir(path_.c_str(), 0755) != 0) path_.clear();
  }
  ~ControlCgroup() {
    if (path_.empty()) return;
    for (int round = 0; round < 5000; ++round) {
      std::istringstream pids(read_file(path_ + "/cgroup.procs"));
      for (int pid; pids >> pid;) kill(pid, SIGKILL);
      write_file(path_ + "/memory.force_empty", "0");
      if (rmdir(path_.c_str()) == 0) return;
      const timespec nap{0, 1000000};
      nanosleep(&nap, nullptr);
    }
  }
  ControlCgroup(const ControlCgroup&) = delete;
  ControlCgroup& operator=(const ControlCgroup&) = delete;
  bool limit(const char* file, long amount) const {
    return !path_.empty() && write_file(path_ + "/" + file, std::to_string(amount));
  }
  bool enter() const { return write_file(path_ + "/cgroup.procs", "0"); }

 private:
  std::string path_;
};

Verdict enter_and_run(const std::vector<const ControlCgroup*>& cgroups, const Body& body) {
  return in_child(
      [&] {
        for (const ControlCgroup* cgroup : cgroups) {
          if (!cgroup->enter()) return not_tried("cannot enter the control's cgroup");
        }
        return body();
      },
      60);
}

}  // namespace

Verdict in_cgroup(CgroupBounds bounds, const Body& body) {
  const Controller memory = find_controller("memory");
  const Controller pids = find_controller("pids");
  // Unbounded, a bomb's control could hurt the host: then rather no control at all.
  const Verdict unbounded = not_tried("no cgroup to bound the control");
  if (memory.v2 != pids.v2) return unbounded;
  if (memory.v2) {
    // A process is in one version 2 cgroup only, so both limits must be in the same.
    write_file(memory.root + "/cgroup.subtree_control", "+memory +pids");
    const ControlCgroup both(memory.root);
    if (!both.limit("memory.max", bounds.memory_bytes) || !both.limit("pids.max", bounds.pids)) {
      return unbounded;
    }
    return enter_and_run({&both}, body);
  }
  const ControlCgroup memory_group(memory.root);
  const ControlCgroup pids_group(pids.root);
  if (!memory_group.limit("memory.limit_in_bytes", bounds.memory_bytes) ||
      !pids_group.limit("pids.max", bounds.pids)) {
    return unbounded;
  }
  return enter_and_run({&memory_group, &pids_group}, body);
}

bool bring_loopback_up() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  ifreq request{};
  strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;
  const bool up = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  close(fd);
  return up;
}

bool add_loopback_address(const char* ipv4) {
  struct {
    nlmsghdr head;
    ifaddrmsg address;
    rtattr attribute;
    in_addr value;
  } message{};
  message.head.nlmsg_len = sizeof message;
  message.head.nlmsg_type = RTM_NEWADDR;
  message.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
  message.address.ifa_family = AF_INET;
  message.address.ifa_prefixlen = 32;
  message.address.ifa_index = if_nametoindex("lo");
  message.attribute.rta_type = IFA_LOCAL;
  message.attribute.rta_len = RTA_LENGTH(sizeof(in_addr));
  inet_pton(AF_INET, ipv4, &message.value);
  const int answer = netlink_request(NETLINK_ROUTE, &message, sizeof message);
  errno = answer > 0 ? answer : ETIMEDOUT;
  return answer == 0;
}

int netlink_request(int protocol, const void* message, size_t size) {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
  if (fd < 0) return errno;
  int answer = -1;
  if (send(fd, message, size, 0) < 0) {
    answer = errno;
  } else {
    pollfd poller{fd, POLLIN, 0};
    alignas(nlmsghdr) char reply[8192];
    if (poll(&poller, 1, 2000) == 1) {
      const ssize_t count = recv(fd, reply, sizeof reply, 0);
      const auto* head = reinterpret_cast<const nlmsghdr*>(reply);
      if (count >= static_cast<ssize_t>(sizeof(nlmsghdr)) && head->nlmsg_type == NLMSG_ERROR) {
        answer = -reinterpret_cast<const nlmsgerr*>(reply + NLMSG_HDRLEN)->error;
      } else if (count > 0) {
        answer = 0;
      }
    }
  }
  close(fd);
  return answer;
}

}  // namespace glovebox::attacks
