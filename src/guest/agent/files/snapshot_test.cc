// Snapshots, in a sandbox of the same shape: overlays with writable layers of a tmpfs at "/" and
// "/usr", other mounts in them; taken from one, and put into a new one over the same template.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "guest/agent/files/tar_writer.h"
#include "guest/agent/files/testing/test_helper.h"
#include "wire/tar/tar_reader.h"

namespace glovebox::agent {
namespace {

using ::testing::HasSubstr;
using wire::FileOp;

// Becomes a process of such a sandbox. Its writable layers are in dir/NAME, so that they outlive
// it. Returns the descriptor of those; never when that is not possible.
int enter_sandbox(const TestDir& dir, const std::string& name) {
  const std::string up = dir / name;
  const std::string root = dir / "root";
  const auto must = [](bool done) {
    if (!done) ::_exit(9);
  };
  must(shell("cd '" + dir.path() + "' && mkdir -p " + name + " root && cd " + name +
             " && mkdir -p upper work usr-upper usr-work"));
  must(::unshare(CLONE_NEWNS) == 0);
  must(::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
  const std::string options =
      "lowerdir=" + (dir / "template") + ",upperdir=" + up + "/upper,workdir=" + up + "/work";
  must(::mount("overlay", root.c_str(), "overlay", 0, options.c_str()) == 0);
  const std::string usr = "lowerdir=" + (dir / "template/usr") + ",upperdir=" + up +
                          "/usr-upper,workdir=" + up + "/usr-work";
  must(::mount("overlay", (root + "/usr").c_str(), "overlay", 0, usr.c_str()) == 0);
  must(::mount("proc", (root + "/proc").c_str(), "proc", 0, nullptr) == 0);
  must(::mount("/dev", (root + "/dev").c_str(), nullptr, MS_BIND, nullptr) == 0);
  must(::mount((dir / "volume").c_str(), (root + "/data").c_str(), nullptr, MS_BIND, nullptr) == 0);
  // For the shell below: the host's own programs.
  const int upper = ::open(up.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  must(upper >= 0 && ::chroot(root.c_str()) == 0 && ::chdir("/") == 0);
  return upper;
}

void make_template(const TestDir& dir) {
  ASSERT_TRUE(shell("cd '" + dir.path() +
                    "' && mkdir -p volume template && cd template && "
                    "mkdir -p usr/bin usr/share/doc proc dev sys data tmp home/user etc/conf.d "
                    "opt/old opt/merged/deep && echo tool > usr/bin/tool && "
                    "echo doc > usr/share/doc/d && echo root:x:0:0::/: > etc/passwd && "
                    "echo 1 > etc/conf.d/one && echo 2 > etc/conf.d/two && echo o > opt/old/o && "
                    "echo m > opt/merged/deep/m && ln -s usr/bin bin && chmod 1777 tmp && "
                    "chown 1000:1000 home/user && echo kept > home/user/kept"));
}

// Runs in the sandbox what a guest could do, by system calls: there is no shell in there.
void inside(const TestDir& dir, const std::string& name, const std::function<bool()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(enter_sandbox(dir, name));
    ::_exit(act() ? 0 : 8);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0) << "9: no such mounts here; 8: what was to be done inside failed";
}

bool put(const char* path, const std::string& content, unsigned mode = 0644) {
  const UniqueFd file(::open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, mode));
  return file && ::write(file.get(), content.data(), content.size()) ==
                     static_cast<ssize_t>(content.size());
}

bool is_directory(const char* path) {
  struct stat info {};
  return ::lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool is_there(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

bool is_link(const char* path) {
  struct stat info {};
  return ::lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

Answer take(const TestDir& dir, const std::string& name, std::uint64_t most = UINT64_MAX) {
  wire::FileRequest request = request_for(FileOp::kSnapshotOut, "");
  request.most = most;
  return run_helper(request, "", Commit::kYes, [&] { return enter_sandbox(dir, name); });
}

Answer give(const TestDir& dir, const std::string& name, const std::string& archive) {
  return run_helper(request_for(FileOp::kSnapshotIn, ""), archive, Commit::kYes,
                    [&] { return enter_sandbox(dir, name); });
}

#define REQUIRE_MOUNTS(dir)                                              \
  do {                                                                   \
    const pid_t trial = ::fork();                                        \
    if (trial == 0) {                                                    \
      (void)enter_sandbox(dir, "trial");                                 \
      ::_exit(0);                                                        \
    }                                                                    \
    int trial_status = 0;                                                \
    ::waitpid(trial, &trial_status, 0);                                  \
    if (trial_status != 0) GTEST_SKIP() << "overlays cannot be mounted"; \
  } while (false)

TEST(Snapshot, BringsBackWhatDiffersAndNothingElse) {
  const TestDir dir;
  make_template(dir);
  REQUIRE_MOUNTS(dir);
  inside(dir, "first", [] {
    const timespec times[2] = {{5, 0}, {5, 7}};
    return put("/home/user/new", "new") && ::chown("/home/user/new", 1000, 1000) == 0 &&
           ::chmod("/home/user/new", 04750) == 0 &&
           ::utimensat(AT_FDCWD, "/home/user/new", times, 0) == 0 &&
           ::link("/home/user/new", "/home/user/second") == 0 &&
           ::symlink("/nowhere", "/home/user/link") == 0 &&
           ::mkfifo("/home/user/fifo", 0622) == 0 &&
           // removed, replaced whole, and changed in part
           ::unlink("/etc/conf.d/one") == 0 && ::unlink("/opt/old/o") == 0 &&
           ::rmdir("/opt/old") == 0 && ::mkdir("/opt/old", 0711) == 0 && put("/opt/old/n", "n") &&
           put("/opt/merged/deep/n", "n") && ::unlink("/usr/bin/tool") == 0 &&
           put("/usr/bin/fresh", "fresh", 0755) && put("/usr/share/doc/d", "changed") &&
           // a link in place of a directory, a directory in place of a link
           ::unlink("/bin") == 0 && ::mkdir("/bin", 0755) == 0 && put("/bin/sh", "sh") &&
           // not the sandbox's own
           put("/data/volume", "host") && put("/tmp/t", "t");
  });
  const Answer out = take(dir, "first");
  ASSERT_EQ(out.error(), 0) << out.message();
  EXPECT_THAT(out.data, ::testing::Not(HasSubstr("volume")));
  EXPECT_THAT(out.data, ::testing::Not(HasSubstr("home/user/kept")));
  const Answer in = give(dir, "second", out.data);
  ASSERT_EQ(in.error(), 0) << in.message();
  EXPECT_EQ(in.done->entries, out.done->entries);
  const auto is_as_it_was = [] {
    struct stat one {};
    struct stat two {};
    const bool links = ::stat("/home/user/new", &one) == 0 &&
                       ::stat("/home/user/second", &two) == 0 && one.st_ino == two.st_ino &&
                       one.st_uid == 1000 && (one.st_mode & 07777) == 04750 &&
                       one.st_mtim.tv_sec == 5 && one.st_mtim.tv_nsec == 7;
    struct stat fifo {};
    return links && read_whole("/home/user/new") == "new" && is_link("/home/user/link") &&
           ::lstat("/home/user/fifo", &fifo) == 0 && S_ISFIFO(fifo.st_mode) &&
           read_whole("/home/user/kept") == "kept\n" && !is_there("/etc/conf.d/one") &&
           read_whole("/etc/conf.d/two") == "2\n" && !is_there("/opt/old/o") &&
           read_whole("/opt/old/n") == "n" && read_whole("/opt/merged/deep/m") == "m\n" &&
           read_whole("/opt/merged/deep/n") == "n" && !is_there("/usr/bin/tool") &&
           read_whole("/usr/bin/fresh") == "fresh" && read_whole("/usr/share/doc/d") == "changed" &&
           is_directory("/bin") && read_whole("/bin/sh") == "sh" && read_whole("/tmp/t") == "t";
  };
  inside(dir, "second", is_as_it_was);
  // And once more: what comes out of the second makes a third that is the same.
  const Answer again = take(dir, "second");
  ASSERT_EQ(again.error(), 0) << again.message();
  ASSERT_EQ(give(dir, "third", again.data).error(), 0);
  inside(dir, "third", is_as_it_was);
}

TEST(Snapshot, ReportsAnOpaqueDirectory) {
  const TestDir dir;
  make_template(dir);
  REQUIRE_MOUNTS(dir);
  inside(dir, "first", [] {
    return ::unlink("/opt/old/o") == 0 && ::rmdir("/opt/old") == 0 &&
           ::mkdir("/opt/old", 0755) == 0 && put("/etc/conf.d/one", "changed") &&
           put("/opt/merged/deep/n", "n");
  });
  const Answer out = take(dir, "first");
  ASSERT_EQ(out.error(), 0) << out.message();
  std::size_t at = 0;
  wire::TarReader reader([&](char* to, std::size_t size) {
    const std::size_t some = std::min(size, out.data.size() - at);
    std::copy_n(out.data.data() + at, some, to);
    at += some;
    return Result<std::size_t>(some);
  });
  std::map<std::string, bool> opaque;
  for (;;) {
    const auto entry = reader.next();
    ASSERT_TRUE(entry.has_value());
    if (!*entry) break;
    if ((*entry)->type == wire::TarType::kDirectory) opaque[(*entry)->name] = (*entry)->opaque;
  }
  EXPECT_TRUE(opaque.at("opt/old"));
  EXPECT_FALSE(opaque.at("opt/merged/deep"));
  EXPECT_FALSE(opaque.at("opt/merged"));  // every name is in the layer, but not all below
  EXPECT_FALSE(opaque.at("opt"));
  EXPECT_FALSE(opaque.at("etc/conf.d"));
}

TEST(Snapshot, IsRefusedWhenItIsTooLarge) {
  const TestDir dir;
  make_template(dir);
  REQUIRE_MOUNTS(dir);
  inside(dir, "first", [] { return put("/tmp/big", std::string(200'000, 'x')); });
  const Answer out = take(dir, "first", 100'000);
  EXPECT_EQ(out.error(), EFBIG);
  EXPECT_THAT(out.message(), HasSubstr("exceeds the limit of 100000 bytes"));
  EXPECT_LE(out.data.size(), 100'000u);
}

wire::TarEntry entry_of(wire::TarType type, const std::string& name, const std::string& link = {}) {
  wire::TarEntry entry;
  entry.type = type;
  entry.name = name;
  entry.link = link;
  entry.mode = 0755;
  return entry;
}

std::string file_of(const std::string& name, const std::string& content) {
  wire::TarEntry entry = entry_of(wire::TarType::kFile, name);
  entry.size = content.size();
  return tar_header(entry) + content + tar_padding(content.size());
}

TEST(Snapshot, OfAHostileGuestReachesNothingButItsOwnLayers) {
  const TestDir dir;
  make_template(dir);
  REQUIRE_MOUNTS(dir);
  write_whole(dir / "volume/own", "own");
  struct Case {
    std::string archive;
    int error;
  };
  wire::TarEntry gone = entry_of(wire::TarType::kFile, "data");
  gone.removed = true;
  wire::TarEntry gone_proc = entry_of(wire::TarType::kFile, "proc");
  gone_proc.removed = true;
  wire::TarEntry opaque_data = entry_of(wire::TarType::kDirectory, "data");
  opaque_data.opaque = true;
  wire::TarEntry opaque_root = entry_of(wire::TarType::kDirectory, ".");
  opaque_root.opaque = true;
  wire::TarEntry device = entry_of(wire::TarType::kCharDevice, "etc/mem");
  const Case cases[] = {
      {tar_header(entry_of(wire::TarType::kSymlink, "proc", "/etc")), EPERM},
      {tar_header(entry_of(wire::TarType::kSymlink, "dev", "/etc")), EPERM},
      {tar_header(entry_of(wire::TarType::kSymlink, "usr", "/etc")), EPERM},
      {file_of("proc/sys/kernel/core_pattern", "x"), EPERM},
      {file_of("dev/null", "x"), EPERM},
      {file_of("./dev/shm/x", "x"), EPERM},
      {tar_header(gone_proc), EPERM},
      {tar_header(device), EPERM},
      {file_of("../x", "x"), EINVAL},
      {tar_header(entry_of(wire::TarType::kSymlink, "home/user", "/proc/self")) +
           file_of("home/user/attr", "x"),
       ELOOP},
      {tar_header(entry_of(wire::TarType::kSymlink, "etc", "/dev")) + file_of("etc/null", "x"),
       ELOOP},
      {tar_header(entry_of(wire::TarType::kHardLink, "etc/h", "data/own")), 0},  // passed over
      {tar_header(gone), 0},
      {tar_header(opaque_data), 0},
      {tar_header(opaque_root), 0},
      {file_of("data/own", "evil"), 0},
      {tar_header(entry_of(wire::TarType::kSymlink, "data", "/etc")), 0},
  };
  int number = 0;
  for (const Case& each : cases) {
    const std::string name = "case" + std::to_string(++number);
    const Answer answer = give(dir, name, each.archive + tar_end());
    EXPECT_EQ(answer.error(), each.error) << number << ": " << answer.message();
    EXPECT_EQ(read_whole(dir / "volume/own"), "own") << number;
    EXPECT_TRUE(shell("test \"$(ls -A '" + (dir / "volume") + "')\" = own")) << number;
    EXPECT_EQ(read_whole(dir / "template/etc/passwd"), "root:x:0:0::/:\n") << number;
    EXPECT_TRUE(is_there("/dev/null"));
  }
}

TEST(Snapshot, LinksInPlaceOfStandardDirectoriesAreUnpackedAsTheyAre) {
  const TestDir dir;
  make_template(dir);
  REQUIRE_MOUNTS(dir);
  const std::string archive =
      tar_header(entry_of(wire::TarType::kSymlink, "etc", "/proc/1/root/etc")) +
      tar_header(entry_of(wire::TarType::kSymlink, "home/user", "/dev")) +
      tar_header(entry_of(wire::TarType::kSymlink, "tmp", "..")) + tar_end();
  const Answer answer = give(dir, "first", archive);
  ASSERT_EQ(answer.error(), 0) << answer.message();
  inside(dir, "first", [] { return is_link("/etc") && is_link("/home/user") && is_link("/tmp"); });
  // Requests go on, and know no names of users any more.
  const auto request = request_for(FileOp::kStat, "/home");
  const Answer stat =
      run_helper(request, "", Commit::kYes, [&] { return enter_sandbox(dir, "first"); });
  EXPECT_EQ(stat.error(), 0);
  EXPECT_EQ(stat.entry().user, "");
  const Answer again = take(dir, "first");
  EXPECT_EQ(again.error(), 0) << again.message();
  EXPECT_EQ(give(dir, "second", again.data).error(), 0);
  inside(dir, "second", [] { return is_link("/etc") && is_link("/home/user") && is_link("/tmp"); });
}

}  // namespace
}  // namespace glovebox::agent
