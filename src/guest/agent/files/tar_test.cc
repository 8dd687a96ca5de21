// Archives: both ways, with the system's tar, and malicious ones.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/agent/files/tar_writer.h"
#include "guest/agent/files/testing/test_helper.h"
#include "guest/agent/files/unpacker.h"
#include "wire/tar/tar_reader.h"

namespace glovebox::agent {
namespace {

using ::testing::HasSubstr;
using wire::FileOp;

wire::TarReader reader_of(std::string bytes) {
  auto at = std::make_shared<std::size_t>(0);
  return wire::TarReader([bytes = std::move(bytes), at](char* to, std::size_t size) {
    // In odd pieces, as a pipe has them.
    const std::size_t some = std::min({size, bytes.size() - *at, std::size_t{333}});
    std::copy_n(bytes.data() + *at, some, to);
    *at += some;
    return Result<std::size_t>(some);
  });
}

wire::TarEntry file_entry(const std::string& name, std::uint64_t size = 0) {
  wire::TarEntry entry;
  entry.name = name;
  entry.mode = 0644;
  entry.size = size;
  return entry;
}

wire::TarEntry link_entry(wire::TarType type, const std::string& name, const std::string& link) {
  wire::TarEntry entry = file_entry(name);
  entry.type = type;
  entry.link = link;
  return entry;
}

std::string with_content(const wire::TarEntry& entry, const std::string& content) {
  return tar_header(entry) + content + tar_padding(content.size());
}

Answer unpack(const std::string& archive, const std::string& path) {
  return run_helper(request_for(FileOp::kTarIn, path), archive);
}

// What a tree is, in words.
bool same_trees(const TestDir& dir, const std::string& one, const std::string& other) {
  const std::string line = "find . -mindepth 1 -printf '%p %y %m %l %s %T@\\n' | sort > ";
  return shell("cd '" + (dir / one) + "' && " + line + "../one.list && cd ../" + other + " && " +
               line +
               "../other.list && cd .. && diff one.list other.list && diff -r --no-dereference " +
               "-x fifo " + one + " " + other);
}

void make_tree(const TestDir& dir) {
  ASSERT_TRUE(
      shell("cd '" + dir.path() +
            "' && mkdir -p t/sub/empty && echo hello > t/f && "
            "chmod 751 t/f && ln -s /nowhere t/link && mkfifo -m 640 t/fifo && "
            "head -c 300000 /dev/urandom > t/sub/random && chmod 555 t/sub/empty && "
            "touch -d '2001-02-03 04:05:06.789' t/f && touch -h -d '1960-01-01' t/link && "
            "n=$(printf 'x%.0s' $(seq 200)) && mkdir -p t/$n/$n && echo deep > t/$n/$n/$n"));
  write_whole(dir / ("t/" + odd_name()), "odd");
}

TEST(Tar, EveryFieldComesBackAsItWas) {
  wire::TarEntry entry = file_entry(std::string(500, 'n') + "/" + odd_name(), 9'000'000'000'000);
  entry.mode = 04755;
  entry.uid = 4'000'000'000;
  entry.gid = 3'000'000'000;
  entry.mtime_s = -5;
  entry.mtime_ns = 250'000'000;
  entry.xattrs = {{"user.a", std::string("b\0\n=", 4)}, {"user.c", ""}};
  entry.opaque = true;
  wire::TarReader reader = reader_of(tar_header(entry));
  EXPECT_EQ(**reader.next(), entry);
  wire::TarEntry link = link_entry(wire::TarType::kSymlink, "l", std::string(3000, 't'));
  link.removed = true;
  wire::TarReader again = reader_of(tar_header(link) + tar_end());
  EXPECT_EQ(**again.next(), link);
  EXPECT_FALSE(again.next()->has_value());
}

TEST(Tar, WhatIsCutIsRefused) {
  const std::string archive =
      with_content(file_entry(std::string(200, 'a'), 700), std::string(700, 'x')) + tar_end();
  for (const std::size_t size : {1u, 511u, 512u, 800u, 1024u, 1536u, 1600u, 2048u, 2559u}) {
    wire::TarReader reader = reader_of(archive.substr(0, size));
    bool failed = false;
    for (;;) {
      const auto entry = reader.next();
      failed = failed || !entry;
      if (!entry || !*entry) break;
    }
    EXPECT_TRUE(failed) << size;
  }
}

TEST(Tar, AWrongSumAndHugeHeadersAreRefused) {
  std::string archive = tar_header(file_entry("a"));
  archive[0] = 'b';
  EXPECT_FALSE(reader_of(archive).next().has_value());
  EXPECT_FALSE(reader_of("no archive at all" + std::string(600, 'x')).next().has_value());
  EXPECT_TRUE(reader_of("").next().has_value());
}

TEST(TarOut, IsReadByTheSystemsTar) {
  const TestDir dir;
  make_tree(dir);
  const Answer answer = run_helper(request_for(FileOp::kTarOut, dir / "t"));
  ASSERT_EQ(answer.error(), 0) << answer.message();
  EXPECT_EQ(answer.done->bytes, answer.data.size());
  write_whole(dir / "t.tar", answer.data);
  ASSERT_TRUE(shell("cd '" + dir.path() + "' && mkdir u && tar -C u -xpf t.tar"));
  EXPECT_TRUE(same_trees(dir, "t", "u"));
}

TEST(TarOut, OfAFileHasItsNameAndWhatIsLinkedTwiceIsThereOnce) {
  const TestDir dir;
  ASSERT_TRUE(shell("cd '" + dir.path() + "' && mkdir t && echo 123 > t/a && ln t/a t/b"));
  wire::TarReader both = reader_of(run_helper(request_for(FileOp::kTarOut, dir / "t")).data);
  EXPECT_EQ((*both.next())->name, ".");
  EXPECT_EQ((*both.next())->name, "a");
  const wire::TarEntry second = **both.next();
  EXPECT_EQ(second.type, wire::TarType::kHardLink);
  EXPECT_EQ(second.link, "a");
  wire::TarReader one = reader_of(run_helper(request_for(FileOp::kTarOut, dir / "t/a")).data);
  const wire::TarEntry entry = **one.next();
  EXPECT_EQ(entry.name, "a");
  EXPECT_EQ(entry.size, 4u);
  EXPECT_EQ(run_helper(request_for(FileOp::kTarOut, dir / "none")).error(), ENOENT);
  EXPECT_EQ(run_helper(request_for(FileOp::kTarOut, "/dev/zero")).error(), EINVAL);
  EXPECT_EQ(run_helper(request_for(FileOp::kTarOut, "/proc")).error(), EACCES);
}

class TarInFormat : public ::testing::TestWithParam<const char*> {};
TEST_P(TarInFormat, ReadsWhatTheSystemsTarWrites) {
  const TestDir dir;
  make_tree(dir);
  ASSERT_TRUE(shell("cd '" + (dir / "t") + "' && tar --format=" + GetParam() + " -cf ../t.tar ."));
  const Answer answer = unpack(read_whole(dir / "t.tar"), dir / "new/u");
  ASSERT_EQ(answer.error(), 0) << answer.message();
  ASSERT_TRUE(shell("cd '" + dir.path() + "' && mv new/u u && touch -r t u"));
  const bool whole_seconds = std::string(GetParam()) == "gnu";
  if (whole_seconds) {
    ASSERT_TRUE(shell("cd '" + dir.path() + "' && find t u -exec touch -h -d '2020-01-01' {} + "));
  }
  EXPECT_TRUE(same_trees(dir, "t", "u"));
}
INSTANTIATE_TEST_SUITE_P(Formats, TarInFormat, ::testing::Values("pax", "gnu"),
                         [](const auto& format) { return std::string(format.param); });

TEST(TarIn, ReplacesFilesAndMakesHolesAgain) {
  const TestDir dir;
  write_whole(dir / "a", "old");
  ASSERT_EQ(::symlink("a", (dir / "l").c_str()), 0);
  const std::string zeros(3'000'000, '\0');
  const std::string archive = with_content(file_entry("/a", 3), "new") +
                              with_content(file_entry("./l", 4), "file") +
                              with_content(file_entry("z", zeros.size()), zeros) + tar_end();
  const Answer answer = unpack(archive, dir.path());
  ASSERT_EQ(answer.error(), 0) << answer.message();
  EXPECT_EQ(answer.done->entries, 3u);
  EXPECT_EQ(answer.done->bytes, 3'000'007u);
  EXPECT_EQ(read_whole(dir / "a"), "new");  // an absolute name is inside too
  EXPECT_EQ(read_whole(dir / "l"), "file");
  EXPECT_EQ(read_whole(dir / "z"), zeros);
  struct stat info {};
  ASSERT_EQ(::stat((dir / "z").c_str(), &info), 0);
  EXPECT_EQ(info.st_blocks, 0);
}

TEST(TarIn, NothingLeadsOutOfTheDirectory) {
  const TestDir dir;
  ASSERT_TRUE(shell("cd '" + dir.path() + "' && mkdir out in && echo secret > out/secret"));
  const std::string in = dir / "in";
  const std::string out = dir / "out";
  const std::string payload = with_content(file_entry("l/evil", 4), "evil");
  struct Case {
    std::string archive;
    int error;
  };
  const Case cases[] = {
      {with_content(file_entry("../out/evil", 4), "evil"), EINVAL},
      {with_content(file_entry("a/../../out/evil", 4), "evil"), EINVAL},
      {tar_header(link_entry(wire::TarType::kSymlink, "l", out)) + payload, ELOOP},
      {tar_header(link_entry(wire::TarType::kSymlink, "l", "../out")) + payload, ELOOP},
      {tar_header(link_entry(wire::TarType::kHardLink, "h", "../out/secret")), EINVAL},
      {tar_header(link_entry(wire::TarType::kHardLink, "h", out + "/secret")), ENOENT},
      {tar_header(link_entry(wire::TarType::kSymlink, "l", out)) +
           tar_header(link_entry(wire::TarType::kHardLink, "h", "l/secret")),
       ELOOP},
      {tar_header(link_entry(wire::TarType::kCharDevice, "null", "")), EPERM},
      {tar_header(link_entry(wire::TarType::kBlockDevice, "disk", "")), EPERM},
      {tar_header(link_entry(wire::TarType::kSymlink, "d", out)) +
           tar_header(link_entry(wire::TarType::kDirectory, "d", "")),
       EEXIST},
  };
  for (const Case& each : cases) {
    const Answer answer = unpack(each.archive + tar_end(), in);
    EXPECT_EQ(answer.error(), each.error) << answer.message();
    ASSERT_TRUE(shell("test \"$(ls -A '" + out + "')\" = secret && rm -rf '" + in + "' && mkdir '" +
                      in + "'"));
  }
  // A file in place of a link: the link is replaced, and not what it leads to.
  const std::string through =
      tar_header(link_entry(wire::TarType::kSymlink, "s", out + "/secret")) +
      with_content(file_entry("s", 4), "evil") + tar_end();
  EXPECT_EQ(unpack(through, in).error(), 0);
  EXPECT_EQ(read_whole(out + "/secret"), "secret\n");
}

TEST(TarIn, AHardLinkToWhatIsThereAlreadyIsNoError) {
  const TestDir dir;
  const std::string link = tar_header(link_entry(wire::TarType::kHardLink, "h", "a"));
  const std::string archive = with_content(file_entry("a", 3), "abc") + link + link +
                              tar_header(link_entry(wire::TarType::kHardLink, "self", "self")) +
                              tar_end();
  const Answer answer = unpack(archive, dir.path());
  ASSERT_EQ(answer.error(), 0) << answer.message();
  EXPECT_EQ(read_whole(dir / "a"), "abc");
  EXPECT_TRUE(shell("cd '" + dir.path() + "' && test a -ef h && test ! -e self"));
  // In the place of another file.
  write_whole(dir / "h2", "old");
  const std::string other = tar_header(link_entry(wire::TarType::kHardLink, "h2", "a"));
  EXPECT_EQ(unpack(other + tar_end(), dir.path()).error(), 0);
  EXPECT_EQ(read_whole(dir / "h2"), "abc");
  const std::string top = tar_header(link_entry(wire::TarType::kHardLink, "t", "./"));
  EXPECT_EQ(unpack(top + tar_end(), dir.path()).error(), EPERM);
}

TEST(TarIn, AnEntryHasAName) {
  const TestDir dir;
  for (const char* name : {"./", "/", "."}) {
    EXPECT_EQ(
        unpack(tar_header(link_entry(wire::TarType::kDirectory, name, "")) + tar_end(), dir.path())
            .error(),
        0)
        << "the top itself";
    EXPECT_EQ(
        unpack(tar_header(link_entry(wire::TarType::kSymlink, name, "x")) + tar_end(), dir.path())
            .error(),
        EINVAL);
  }
}

// What only a snapshot may say: that files of its template are gone.
TEST(TarIn, TakesNothingAwayThatWasThere) {
  const TestDir dir;
  ASSERT_TRUE(shell("cd '" + dir.path() + "' && mkdir d && touch a d/inside"));
  wire::TarEntry removed = file_entry("a");
  removed.removed = true;
  wire::TarEntry opaque = link_entry(wire::TarType::kDirectory, "d", "");
  opaque.opaque = true;
  ASSERT_EQ(unpack(tar_header(removed) + tar_header(opaque) + tar_end(), dir.path()).error(), 0);
  EXPECT_TRUE(shell("cd '" + dir.path() + "' && test -e a && test -e d/inside"));
}

TEST(TarIn, RefusesWhatIsTooLargeCutOrNoArchive) {
  const TestDir dir;
  const std::string archive =
      with_content(file_entry("a", 100'000), std::string(100'000, 'x')) + tar_end();
  wire::FileRequest request = request_for(FileOp::kTarIn, dir.path());
  request.most = 50'000;
  EXPECT_EQ(run_helper(request, archive).error(), EFBIG);
  request.most = archive.size() - 1;
  EXPECT_EQ(run_helper(request, archive).error(), EFBIG);
  request.most = archive.size();
  EXPECT_EQ(run_helper(request, archive).error(), 0);
  EXPECT_EQ(unpack(archive.substr(0, 60'000), dir.path()).error(), EINVAL);
  EXPECT_EQ(unpack(tar_header(file_entry("huge", 1ull << 50)), dir.path()).error(), EINVAL);
  EXPECT_EQ(unpack(std::string(5000, 'x'), dir.path()).error(), EINVAL);
  EXPECT_EQ(run_helper(request_for(FileOp::kTarIn, dir.path()), archive, Commit::kNo).error(),
            ECANCELED);
}

TEST(TarIn, DropsSetuidAndGivesFilesToTheUser) {
  const TestDir dir;
  wire::TarEntry entry = file_entry("a");
  entry.mode = 06755;
  entry.uid = 1234;
  ASSERT_EQ(unpack(tar_header(entry) + tar_end(), dir.path()).error(), 0);
  struct stat info {};
  ASSERT_EQ(::stat((dir / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777u, 0755u);
  EXPECT_EQ(info.st_uid, ::getuid());
}

TEST(TarIn, ReportsThatTheDiskIsFull) {
  const TestDir dir;
  const auto small_disk = [&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", dir.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
      ::_exit(9);
    }
    return -1;
  };
  const std::string archive =
      with_content(file_entry("big", 4'000'000), std::string(4'000'000, 'x')) + tar_end();
  const Answer answer =
      run_helper(request_for(FileOp::kTarIn, dir.path()), archive, Commit::kYes, small_disk);
  EXPECT_EQ(answer.error(), ENOSPC);
  EXPECT_THAT(answer.message(), HasSubstr("big: No space left on device"));
}

Result<> unpack_layer(const std::string& archive, const TestDir& dir) {
  wire::TarReader reader = reader_of(archive);
  UniqueFd top(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Unpacker unpacker(std::move(top), UniqueFd(), UnpackRules{.snapshot = false, .layer = true});
  for (;;) {
    TRY(const std::optional<wire::TarEntry> entry, reader.next());
    if (!entry) return unpacker.finish();
    TRY_OK(unpacker.take(*entry, reader));
  }
}

unsigned mode_of(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777u : ~0u;
}

TEST(TarInALayer, AllUsersCanReadItAndOnlyTheOwnerCanWriteIt) {
  const TestDir dir;
  wire::TarEntry program = file_entry("bin/program");
  program.mode = 06711;
  wire::TarEntry secret = file_entry("secret");
  secret.mode = 0;
  wire::TarEntry open = file_entry("open");
  open.type = wire::TarType::kDirectory;
  open.mode = 01777;
  ASSERT_TRUE(
      unpack_layer(tar_header(program) + tar_header(secret) + tar_header(open) + tar_end(), dir));
  EXPECT_EQ(mode_of(dir / "bin"), 0755u);
  EXPECT_EQ(mode_of(dir / "bin/program"), 0755u);
  EXPECT_EQ(mode_of(dir / "secret"), 0644u);
  EXPECT_EQ(mode_of(dir / "open"), 0755u);
}

TEST(TarInALayer, HasFilesDirectoriesAndLinksOnly) {
  const TestDir dir;
  for (const wire::TarType type :
       {wire::TarType::kFifo, wire::TarType::kCharDevice, wire::TarType::kBlockDevice}) {
    EXPECT_FALSE(unpack_layer(tar_header(link_entry(type, "odd", "")) + tar_end(), dir));
    EXPECT_EQ(mode_of(dir / "odd"), ~0u);
  }
  EXPECT_TRUE(
      unpack_layer(tar_header(link_entry(wire::TarType::kSymlink, "link", "/x")) + tar_end(), dir));
}

TEST(TarOut, OfTheSameTreeIsTheSameWhateverOrderItWasMadeIn) {
  const TestDir dir;
  ASSERT_TRUE(shell("cd '" + dir.path() +
                    "' && mkdir one other && for i in $(seq 300); do "
                    "echo $i > one/f$i; done && for i in $(seq 300 -1 1); do echo $i > other/f$i; "
                    "done && touch -d '2001-02-03 04:05:06' one/* other/* one other"));
  const Answer one = run_helper(request_for(FileOp::kTarOut, dir / "one"));
  const Answer other = run_helper(request_for(FileOp::kTarOut, dir / "other"));
  ASSERT_EQ(one.error(), 0) << one.message();
  EXPECT_EQ(one.data, other.data);
  EXPECT_EQ(run_helper(request_for(FileOp::kTarOut, dir / "one")).data, one.data);
}

TEST(TarBothWays, HoldsATreeDeeperThanAPath) {
  const TestDir dir;
  ASSERT_EQ(::mkdir((dir / "deep").c_str(), 0755), 0);
  UniqueFd at(::open((dir / "deep").c_str(), O_RDONLY | O_DIRECTORY));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), "a-directory", 0755), 0);
    at.reset(::openat(at.get(), "a-directory", O_RDONLY | O_DIRECTORY));
  }
  const Answer out = run_helper(request_for(FileOp::kTarOut, dir / "deep"));
  ASSERT_EQ(out.error(), 0) << out.message();
  const Answer in = unpack(out.data, dir / "copy");
  EXPECT_EQ(in.error(), 0) << in.message();
  EXPECT_EQ(in.done->entries, 1000u);
}

TEST(CleanName, StaysInside) {
  EXPECT_EQ(clean_name("./a//b/./c/").value(), "a/b/c");
  EXPECT_EQ(clean_name("///etc").value(), "etc");
  EXPECT_EQ(clean_name("./").value(), "");
  EXPECT_EQ(clean_name("a..b/...").value(), "a..b/...");
  EXPECT_FALSE(clean_name("..").has_value());
  EXPECT_FALSE(clean_name("a/..").has_value());
  EXPECT_FALSE(clean_name(std::string("a\0b", 3)).has_value());
}

}  // namespace
}  // namespace glovebox::agent
