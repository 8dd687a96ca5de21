// Each descriptor that a client might pass as the source of a mount, or as a sandbox's socket: what
// is refused, with which code, and by which check.
#include "launcher/policy/request_checks.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/unique_fd.h"

namespace glovebox::launcher {
namespace {

using ::testing::HasSubstr;

class RequestChecks : public ::testing::Test {
 protected:
  RequestChecks() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gbx-checks-XXXXXX").string();
    dir_ = ::mkdtemp(pattern.data());
  }
  ~RequestChecks() override { std::filesystem::remove_all(dir_); }

  static UniqueFd open_path(const std::string& path, int flags = O_PATH) {
    UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC));
    EXPECT_TRUE(fd) << path << ": " << std::strerror(errno);
    return fd;
  }
  static void expect_special(const UniqueFd& fd, const char* what) {
    const auto checked = refuse_special_files(fd.get());
    ASSERT_FALSE(checked) << what;
    EXPECT_EQ(checked.error().code(), Errc::kPolicy) << what;
    EXPECT_THAT(checked.error().message(), HasSubstr("only directories and regular files")) << what;
  }
  static void expect_kernels(const std::string& path, int flags = O_PATH) {
    if (::access(path.c_str(), F_OK) != 0) return;
    const UniqueFd fd = open_path(path, flags);
    const auto checked = refuse_kernel_filesystems(fd.get());
    ASSERT_FALSE(checked) << path;
    EXPECT_EQ(checked.error().code(), Errc::kPolicy) << path;
    EXPECT_THAT(checked.error().message(), HasSubstr("kernel filesystem")) << path;
  }
  std::string dir_;
};

TEST_F(RequestChecks, ADirectoryAndAFileMayBeMounted) {
  const std::string file = dir_ + "/file";
  const UniqueFd made(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  for (const std::string& path : {dir_, file, std::string("/usr"), std::string("/etc/passwd")}) {
    const UniqueFd fd = open_path(path);
    EXPECT_TRUE(refuse_special_files(fd.get())) << path;
    EXPECT_TRUE(refuse_kernel_filesystems(fd.get())) << path;
  }
  EXPECT_TRUE(refuse_special_files(open_path(file, O_RDONLY).get()));
}

TEST_F(RequestChecks, SocketsAreNotMounted) {
  const std::string path = dir_ + "/socket";
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  expect_special(open_path(path), "the file of a bound socket");
  expect_special(listener, "an open socket");
}

TEST_F(RequestChecks, NothingElseThatIsNoFileIsMounted) {
  const std::string fifo = dir_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  expect_special(open_path(fifo), "a fifo");
  expect_special(open_path("/dev/null"), "the null device by its path");
  expect_special(open_path("/dev/null", O_RDWR), "the null device");
  const std::string link = dir_ + "/link";
  ASSERT_EQ(::symlink("/etc", link.c_str()), 0);
  expect_special(open_path(link, O_PATH | O_NOFOLLOW), "a symlink");
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  expect_special(UniqueFd(ends[0]), "a pipe's end");
  expect_special(UniqueFd(ends[1]), "a pipe's other end");
  expect_special(UniqueFd(::eventfd(0, EFD_CLOEXEC)), "an event counter");
  expect_special(UniqueFd(::epoll_create1(EPOLL_CLOEXEC)), "an epoll instance");
}

TEST_F(RequestChecks, AFileOfNoFilesystemIsNotMounted) {
  const UniqueFd memory(::memfd_create("gbx", MFD_CLOEXEC));
  ASSERT_TRUE(memory);
  // A regular file for fstat; but it has no name that could be opened again.
  const auto checked = refuse_special_files(memory.get());
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code(), Errc::kPolicy);
  EXPECT_THAT(checked.error().message(), HasSubstr("no name"));
  const std::string path = dir_ + "/removed";
  const UniqueFd removed(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::unlink(path.c_str()), 0);
  EXPECT_FALSE(refuse_special_files(removed.get()));
  const UniqueFd nameless(::open(dir_.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (nameless) {
    EXPECT_FALSE(refuse_special_files(nameless.get()));
  }
}

TEST_F(RequestChecks, FilesystemsOfTheKernelAreNotMounted) {
  expect_kernels("/proc");
  expect_kernels("/proc/self");
  expect_kernels("/proc/sys/kernel/hostname");
  expect_kernels("/proc/self/ns/mnt", O_RDONLY);
  expect_kernels("/sys");
  expect_kernels("/dev/pts");
  for (const char* path : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified",
                           "/sys/kernel/debug/tracing", "/sys/fs/bpf"}) {
    expect_kernels(path);
  }
}

TEST_F(RequestChecks, ASandboxsLinkIsAUnixSeqpacketSocketOrASessionsAStream) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  EXPECT_TRUE(check_link(UniqueFd(pair[0]).get(), LinkOf::kRun));
  EXPECT_TRUE(check_link(UniqueFd(pair[1]).get(), LinkOf::kSession));
  const auto refused = [](int fd, const char* what) {
    const UniqueFd owned(fd);
    for (const LinkOf whose : {LinkOf::kRun, LinkOf::kSession}) {
      const auto checked = check_link(owned.get(), whose);
      ASSERT_FALSE(checked) << what;
      EXPECT_EQ(checked.error().code(), Errc::kProtocol) << what;
    }
  };
  const UniqueFd stream(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_TRUE(check_link(stream.get(), LinkOf::kSession));
  EXPECT_FALSE(check_link(stream.get(), LinkOf::kRun));
  refused(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "datagrams");
  refused(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "a TCP socket");
  refused(::open("/dev/null", O_RDWR | O_CLOEXEC), "a device");
  refused(::open("/etc", O_PATH | O_CLOEXEC), "a directory");
}

TEST_F(RequestChecks, ACpuShareThatWasAskedForNeedsItsController) {
  EXPECT_TRUE(check_enforceable({}, {})) << "a default may go without";
  Limits asked;
  asked.mark_asked_for(LimitKind::kCpus);
  EXPECT_TRUE(check_enforceable(asked, {.cpu = true}));
  const auto checked = check_enforceable(asked, {.memory = true, .cpu_time = true});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code(), Errc::kUnsupported);
  EXPECT_THAT(checked.error().message(), HasSubstr("CPU share"));
}

TEST_F(RequestChecks, RlimitsStandInForMemoryAndCpuTimeAndAreListedAsWhatTheyAre) {
  Limits asked;
  asked.mark_asked_for(LimitKind::kMemory);
  asked.mark_asked_for(LimitKind::kCpuTime);
  EXPECT_TRUE(check_enforceable(asked, {}));
  WallSet weak;
  add_limit_walls({}, weak);
  EXPECT_THAT(weak.names(),
              ::testing::ElementsAre("memory-limit-per-process", "cpu-time-limit-per-process"));
  WallSet strong;
  add_limit_walls({.memory = true, .cpu = true, .cpu_time = true}, strong);
  EXPECT_THAT(strong.names(), ::testing::ElementsAre("memory-limit", "cpu-limit"));
}

}  // namespace
}  // namespace glovebox::launcher
