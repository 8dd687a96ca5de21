#include "guest/agent/files/testing/test_helper.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/write_all.h"

namespace glovebox::agent {
namespace {

constexpr int kDeadlineMs = 60'000;

bool is_input(wire::FileOp op) {
  return op == wire::FileOp::kWrite || op == wire::FileOp::kTarIn ||
         op == wire::FileOp::kSnapshotIn || op == wire::FileOp::kImageIn;
}
bool has_pipe(wire::FileOp op) {
  return is_input(op) || op == wire::FileOp::kRead || op == wire::FileOp::kList ||
         op == wire::FileOp::kTarOut || op == wire::FileOp::kWatch ||
         op == wire::FileOp::kSnapshotOut;
}

}  // namespace

wire::FileEntry Answer::entry() const {
  if (!done || done->entry.size() < 4) return {};
  return wire::decode_file_entry(done->entry.substr(4)).value_or(wire::FileEntry{});
}

std::vector<wire::FileEntry> Answer::entries() const {
  wire::RecordReader reader;
  reader.add(data);
  std::vector<wire::FileEntry> entries;
  for (;;) {
    const auto record = reader.next();
    if (!record || !*record) break;
    entries.push_back(wire::decode_file_entry(**record).value());
  }
  EXPECT_TRUE(reader.empty());
  return entries;
}

TestDir::TestDir() {
  char name[] = "/dev/shm/gbx-files-XXXXXX";
  path_ = ::mkdtemp(name);
}

TestDir::~TestDir() { (void)shell("rm -rf '" + path_ + "'"); }

TestHelper::TestHelper(const wire::FileRequest& request, std::function<int()> inside)
    : request_(request) {
  ::signal(SIGPIPE, SIG_IGN);
  int data[2] = {-1, -1}, status[2], control[2];
  if (has_pipe(request.op) && ::pipe2(data, O_CLOEXEC) != 0) std::abort();
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, status) != 0) std::abort();
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0) std::abort();
  const int ours = is_input(request.op) ? 1 : 0;
  data_.reset(data[ours]);
  status_.reset(status[0]);
  control_.reset(control[0]);
  pid_ = ::fork();
  if (pid_ == 0) {
    const int theirs = data[1 - ours];
    data_.reset();
    status_.reset();
    control_.reset();
    const int upper = inside ? inside() : -1;
    run_file_helper(request_, {theirs, status[1], control[1], upper});
  }
  ::close(data[1 - ours]);
  ::close(status[1]);
  ::close(control[1]);
}

TestHelper::~TestHelper() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void TestHelper::send(const std::string& input) { (void)write_all(data_.get(), input); }

void TestHelper::commit(Commit commit) {
  if (commit == Commit::kYes) (void)!::send(control_.get(), "c", 1, MSG_NOSIGNAL);
  control_.reset();
}

void TestHelper::ask_for_mark() { (void)!::send(control_.get(), "c", 1, MSG_NOSIGNAL); }

bool TestHelper::read_some(std::string& into) {
  pollfd event{data_.get(), POLLIN, 0};
  if (::poll(&event, 1, kDeadlineMs) <= 0) {
    ADD_FAILURE() << "the helper hangs";
    return false;
  }
  std::string buffer(1 << 20, '\0');
  const ssize_t got = ::read(data_.get(), buffer.data(), buffer.size());
  if (got <= 0) return false;
  into.append(buffer, 0, static_cast<std::size_t>(got));
  return true;
}

void TestHelper::take_status(Answer& answer) {
  for (;;) {
    pollfd event{status_.get(), POLLIN, 0};
    if (::poll(&event, 1, kDeadlineMs) <= 0) {
      ADD_FAILURE() << "the helper hangs";
      return;
    }
    std::vector<std::byte> bytes(wire::kMaxSessionFrame);
    const ssize_t got = ::recv(status_.get(), bytes.data(), bytes.size(), 0);
    if (got <= 0) return;
    bytes.resize(static_cast<std::size_t>(got));
    const auto frame = wire::decode_session_frame(bytes);
    ASSERT_TRUE(frame.has_value());
    if (const auto* opened = std::get_if<wire::FileOpened>(&*frame)) {
      EXPECT_FALSE(answer.opened || answer.done);
      answer.opened = *opened;
    }
    if (const auto* done = std::get_if<wire::FileDone>(&*frame)) {
      EXPECT_FALSE(answer.done);
      answer.done = *done;
    }
  }
}

Answer TestHelper::finish() {
  Answer answer;
  if (!is_input(request_.op) && data_) {
    while (read_some(answer.data)) {
    }
  }
  data_.reset();
  take_status(answer);
  if (::testing::Test::HasFailure()) ::kill(pid_, SIGKILL);
  ::waitpid(pid_, &answer.status, 0);
  pid_ = -1;
  return answer;
}

std::optional<wire::WatchEvent> TestHelper::next_event() {
  for (;;) {
    const auto record = records_.next();
    if (!record) return {};
    if (*record) return wire::decode_watch_event(**record).value();
    std::string more;
    if (!read_some(more)) return {};
    records_.add(more);
  }
}

Answer run_helper(const wire::FileRequest& request, const std::string& input, Commit commit,
                  std::function<int()> inside) {
  TestHelper helper(request, std::move(inside));
  if (is_input(request.op)) {
    helper.send(input);
    helper.close_data();
  }
  helper.commit(commit);
  return helper.finish();
}

wire::FileRequest request_for(wire::FileOp op, const std::string& path, const std::string& target) {
  wire::FileRequest request;
  request.request = 7;
  request.op = op;
  request.path = path;
  request.target = target;
  return request;
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

void write_whole(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

bool shell(const std::string& line) { return std::system(line.c_str()) == 0; }

std::string odd_name() {
  std::string name;
  for (int c = 1; c < 256; ++c) {
    if (c != '/') name.push_back(static_cast<char>(c));
  }
  return name;
}

}  // namespace glovebox::agent
