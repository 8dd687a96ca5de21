// The file routes with a sandbox that keeps its files in a map.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <deque>

#include "api/testing/test_server.h"
#include "base/base64.h"
#include "sessions/files/file_json.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using http::Method;
using ::testing::HasSubstr;
using wire::FileOp;

constexpr const char* kFiles = "/v1/sandboxes/sb00000000000000000000/files";

Error guest_said(int error) { return Error(Errc::kInternal, "the guest's words", error); }

wire::FileEntry entry_named(std::string path, std::uint64_t size) {
  wire::FileEntry entry;
  entry.path = std::move(path);
  entry.mode = 0640;
  entry.uid = 1000;
  entry.user = "user";
  entry.size = size;
  entry.modified_ns = 1'700'000'000'123'000'000;
  return entry;
}

// What a test's sandbox sends, accepts and reports at the end.
struct Play {
  std::string entry;
  std::deque<std::string> parts;
  std::string taken;
  std::size_t takes = SIZE_MAX;  // bytes, then no more
  Result<wire::FileDone> end{};
  bool committed = false;
  bool closed = false;
};

class FakeTransfer final : public node::FileTransfer {
 public:
  explicit FakeTransfer(std::shared_ptr<Play> play) : play_(std::move(play)) {}
  const std::string& entry() const override { return play_->entry; }
  asio::awaitable<std::size_t> read_some(char* into, std::size_t size) override {
    if (play_->parts.empty()) co_return 0;
    std::string& part = play_->parts.front();
    const std::size_t got = part.copy(into, size);
    part.erase(0, got);
    if (part.empty()) play_->parts.pop_front();
    co_return got;
  }
  asio::awaitable<bool> write(std::string_view bytes) override {
    play_->taken += bytes;
    co_return play_->taken.size() <= play_->takes;
  }
  void commit() override { play_->committed = true; }
  Task<wire::FileDone> done() override { co_return play_->end; }
  void close() override { play_->closed = true; }

 private:
  std::shared_ptr<Play> play_;
};

class FakeSession final : public node::Session {
 public:
  const SandboxId& id() const override { return id_; }
  const WallSet& walls() const override { return walls_; }
  const std::string& template_name() const override { return template_; }
  bool alive() const override { return true; }
  Task<Started> start(node::ProcessSpec, Attach) override { co_return no(); }
  std::vector<node::ProcessInfo> processes() const override { return {}; }
  std::optional<node::ProcessInfo> find_process(wire::ProcessNumber) const override { return {}; }
  Task<std::unique_ptr<node::Attachment>> attach(wire::ProcessNumber, node::AttachFrom) override {
    co_return no();
  }
  Task<> write_input(wire::ProcessNumber, wire::Stream, std::string) override { co_return no(); }
  Task<> close_input(wire::ProcessNumber, wire::Stream) override { co_return no(); }
  Result<> signal(wire::ProcessNumber, int, bool) override { return no(); }
  Result<> resize(wire::ProcessNumber, TerminalSize) override { return no(); }
  Result<> set_lossy(wire::ProcessNumber, bool) override { return no(); }
  Result<> forget(wire::ProcessNumber) override { return no(); }
  Task<wire::ProcessEnd> wait_exit(wire::ProcessNumber,
                                   std::chrono::steady_clock::time_point) override {
    co_return no();
  }
  Task<UniqueFd> connect_port(std::uint16_t) override { co_return no(); }
  Task<> end_processes() override { co_return no(); }

  Task<wire::FileDone> file(wire::FileRequest request) override {
    asked.push_back(std::move(request));
    co_return answer;
  }
  Task<std::unique_ptr<node::FileTransfer>> transfer(wire::FileRequest request) override {
    asked.push_back(std::move(request));
    if (!answer) co_return fail(Error(answer.error()));
    co_return std::make_unique<FakeTransfer>(play);
  }

  std::vector<wire::FileRequest> asked;
  Result<wire::FileDone> answer{};  // of those without a pipe; an error refuses the others too
  std::shared_ptr<Play> play = std::make_shared<Play>();

 private:
  static tl::unexpected<Error> no() { return fail(Errc::kUnsupported, "not in this test"); }
  const SandboxId id_ = *SandboxId::parse("sb00000000000000000000");
  const WallSet walls_{};
  const std::string template_ = "base";
};

class FileRoutesTest : public ::testing::Test {
 protected:
  FileRoutesTest() { test.sessions.add({.project = "default", .session = session}); }

  Answer get(const std::string& rest, http::Headers headers = {}) {
    return test.send(Method::kGet, kFiles + rest, test.admin_key, {}, std::move(headers));
  }
  Answer post(const std::string& rest, std::string body) {
    return test.send(Method::kPost, kFiles + rest, test.admin_key, std::move(body));
  }
  // A file that repeats the digits up to its size.
  void give_file(std::uint64_t size, std::string bytes) {
    session->play->entry = wire::encode_record(entry_named("/d/f", size));
    session->play->parts = {std::move(bytes)};
  }
  void say(wire::FileEntry entry) {
    wire::FileDone done;
    done.entry = wire::encode_record(entry);
    session->answer = std::move(done);
  }
  void refuse(int error) { session->answer = fail(guest_said(error)); }
  const wire::FileRequest& last() const { return session->asked.back(); }

  TestServer test;
  std::shared_ptr<FakeSession> session = std::make_shared<FakeSession>();
};

TEST_F(FileRoutesTest, ReadsAFileWithItsModeAndSize) {
  give_file(10, "0123456789");
  const Answer answer = get("?path=/d/f g");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.body, "0123456789");
  EXPECT_EQ(answer.headers.get("Content-Length"), "10");
  EXPECT_EQ(answer.headers.get("X-File-Mode"), "0640");
  EXPECT_EQ(answer.headers.get("Content-Disposition"), "attachment; filename*=UTF-8''f%20g");
  EXPECT_EQ(last().op, FileOp::kRead);
  EXPECT_EQ(last().path, "/d/f g");
  EXPECT_EQ(last().user, "user");
}

TEST_F(FileRoutesTest, ReadsAPart) {
  give_file(10, "234");
  const Answer answer = get("?path=/d/f&user=root", {{"Range", "bytes=2-4"}});
  EXPECT_EQ(answer.status, 206);
  EXPECT_EQ(answer.body, "234");
  EXPECT_EQ(answer.headers.get("Content-Range"), "bytes 2-4/10");
  EXPECT_EQ(last().from, 2u);
  EXPECT_EQ(last().most, 3u);
  EXPECT_EQ(last().user, "root");
}

TEST_F(FileRoutesTest, ReadsTheEndOfAFile) {
  say(entry_named("/d/f", 10));
  give_file(10, "789");
  const Answer answer = get("?path=/d/f", {{"Range", "bytes=-3"}});
  EXPECT_EQ(answer.status, 206);
  EXPECT_EQ(answer.body, "789");
  EXPECT_EQ(session->asked.front().op, FileOp::kStat);
  EXPECT_EQ(last().from, 7u);
}

TEST_F(FileRoutesTest, RefusesARangeBeyondTheEnd) {
  give_file(10, "");
  const Answer answer = get("?path=/d/f", {{"Range", "bytes=10-"}});
  EXPECT_EQ(answer.status, 416);
  EXPECT_EQ(answer.headers.get("Content-Range"), "bytes */10");
}

TEST_F(FileRoutesTest, NeverSendsMoreThanItPromised) {
  give_file(4, "0123456789");
  EXPECT_EQ(get("?path=/d/f").body, "0123");
}

TEST_F(FileRoutesTest, DoesNotLookCompleteWhenTheFileWasTruncated) {
  give_file(10, "0123");
  bool answered = false;
  test.begin(Method::kGet, std::string(kFiles) + "?path=/d/f", test.admin_key, {}, {},
             [&](Answer answer) {
               answered = true;
               EXPECT_NE(answer.status, 200) << "an error cuts the connection";
             });
  test.run_until([&] { return answered; });
}

TEST_F(FileRoutesTest, MapsAnErrnoToAStatus) {
  const std::pair<int, std::pair<int, const char*>> known[] = {
      {ENOENT, {404, "not_found"}},        {EACCES, {403, "permission_denied"}},
      {EPERM, {403, "permission_denied"}}, {EEXIST, {409, "exists"}},
      {ENOTEMPTY, {409, "not_empty"}},     {ENOTDIR, {400, "not_a_directory"}},
      {EISDIR, {400, "is_a_directory"}},   {ELOOP, {400, "invalid_argument"}},
      {EINVAL, {400, "invalid_argument"}}, {ENAMETOOLONG, {400, "invalid_argument"}},
      {ENOSPC, {507, "disk_full"}},        {EDQUOT, {507, "disk_full"}},
      {EAGAIN, {503, "unavailable"}},      {EIO, {500, "internal"}}};
  for (const auto& [error, expected] : known) {
    refuse(error);
    for (const char* rest : {"?path=/x", "/stat?path=/x", "/list?path=/x", "/tar?path=/x"}) {
      const Answer answer = get(rest);
      EXPECT_EQ(answer.status, expected.first) << rest << error;
      EXPECT_EQ(code_of(answer), expected.second) << rest << error;
    }
  }
}

TEST_F(FileRoutesTest, TakesPathsOfAnyBytes) {
  say(entry_named("/d/\xff", 1));
  const Answer answer = get("/stat?path=/d/\xff&follow=false");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json::object entry = json::parse(answer.body).as_object();
  EXPECT_EQ(entry.at("path_base64").as_string(), base64_encode("/d/\xff"));
  EXPECT_EQ(entry.at("path").as_string(), "/d/\xEF\xBF\xBD");
  EXPECT_EQ(entry.at("mode").as_string(), "0640");
  EXPECT_EQ(entry.at("modified_at").as_string(), "2023-11-14T22:13:20.123Z");
  EXPECT_TRUE(entry.at("target").is_null());
  EXPECT_FALSE(last().follow);
  EXPECT_EQ(get("/stat?path_base64=L2Qv/w==").status, 200);
  EXPECT_EQ(last().path, "/d/\xff");
}

TEST_F(FileRoutesTest, RefusesInvalidParameters) {
  for (const std::string rest :
       {"", "?path=", "?path=/x&path_base64=YQ==", "?path_base64=!!",
        "?path=/x&user=", "?path=/x&user=a:b", "?path=/x&nonsense=1", "/list?path=/x&depth=-1",
        "/list?path=/x&limit=0", "/list?path=/x&limit=99999999", "/stat?path=/x&follow=maybe"}) {
    EXPECT_EQ(get(rest).status, 400) << rest;
  }
  EXPECT_EQ(get("?path=" + std::string(4097, 'a')).status, 400);
  EXPECT_EQ(get("?path=a" + std::string(1, '\0')).status, 400);
  for (const char* body : {"", "{}", "[]", R"({"path":""})", R"({"path":"/x","mode":"999"})",
                           R"({"path":"/x","mode":"77777"})", R"({"path":"/x","owner":"a:b:c"})",
                           R"({"path":"/x","path_base64":"YQ=="})", R"({"path":"/x","more":1})"}) {
    EXPECT_EQ(post("/mkdir", body).status, 400) << body;
  }
  EXPECT_EQ(post("/move", R"({"from":"/a"})").status, 400);
  EXPECT_TRUE(session->asked.empty());
}

TEST_F(FileRoutesTest, AnotherProjectsSandboxIsNotFound) {
  const std::string key = test.make_key("other", store::KeyRole::kUser);
  EXPECT_EQ(test.send(Method::kGet, std::string(kFiles) + "?path=/x", key).status, 404);
  EXPECT_EQ(test.send(Method::kGet, std::string(kFiles) + "?path=/x").status, 401);
}

TEST_F(FileRoutesTest, ReportsWhetherAFileExists) {
  say(entry_named("/x", 1));
  EXPECT_THAT(get("/exists?path=/x").body, HasSubstr("true"));
  refuse(ENOENT);
  EXPECT_THAT(get("/exists?path=/x").body, HasSubstr("false"));
  refuse(ENOTDIR);
  EXPECT_THAT(get("/exists?path=/x/y").body, HasSubstr("false"));
  refuse(EACCES);
  EXPECT_EQ(get("/exists?path=/x").status, 403);
}

TEST_F(FileRoutesTest, ListsADirectory) {
  std::string records = wire::encode_record(entry_named("a", 1));
  wire::FileEntry link = entry_named("d/l", 2);
  link.type = wire::FileType::kSymlink;
  link.target = "../\xfe";
  records += wire::encode_record(link);
  session->play->parts = {records.substr(0, 7), records.substr(7)};
  const Answer answer = get("/list?path=/home/&depth=3&limit=5");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json::object body = json::parse(answer.body).as_object();
  const json::array& entries = body.at("entries").as_array();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].at("path").as_string(), "/home/a");
  EXPECT_EQ(entries[1].at("path").as_string(), "/home/d/l");
  EXPECT_EQ(entries[1].at("name").as_string(), "l");
  EXPECT_EQ(entries[1].at("target_base64").as_string(), base64_encode("../\xfe"));
  EXPECT_FALSE(body.at("truncated").as_bool());
  EXPECT_EQ(last().depth, 3u);
  EXPECT_EQ(last().most, 5u);
}

TEST_F(FileRoutesTest, StreamsALongList) {
  std::string records;
  for (int i = 0; i < 5000; ++i) {
    records += wire::encode_record(entry_named("f" + std::to_string(i), 1));
  }
  session->play->parts = {std::move(records)};
  wire::FileDone end;
  end.message = "truncated";
  session->play->end = end;
  const Answer answer = get("/list?path=/");
  EXPECT_TRUE(answer.streamed);
  const json::object body = json::parse(answer.body).as_object();
  EXPECT_EQ(body.at("entries").as_array().size(), 5000u);
  EXPECT_EQ(body.at("entries").at(4999).at("path").as_string(), "/f4999");
  EXPECT_TRUE(body.at("truncated").as_bool());
}

TEST_F(FileRoutesTest, RefusesAMalformedList) {
  session->play->parts = {std::string("\xff\xff\xff\xff records", 12)};
  EXPECT_EQ(get("/list?path=/").status, 502);
  session->play->parts = {wire::encode_record(entry_named("a", 1)).substr(0, 20)};
  EXPECT_EQ(get("/list?path=/").status, 502);
  std::string three;
  for (const char* name : {"a", "b", "c"}) three += wire::encode_record(entry_named(name, 1));
  session->play->parts = {three};
  const json::object body = json::parse(get("/list?path=/&limit=2").body).as_object();
  EXPECT_EQ(body.at("entries").as_array().size(), 2u);
  EXPECT_TRUE(body.at("truncated").as_bool());
  // The lowest limit is one.
  session->play->parts = {three};
  const Answer least = get("/list?path=/&limit=1");
  EXPECT_EQ(least.status, 200);
  EXPECT_EQ(json::parse(least.body).at("entries").as_array().size(), 1u);
}

TEST_F(FileRoutesTest, ChangesFiles) {
  say(entry_named("/b", 0));
  EXPECT_EQ(
      post("/mkdir", R"({"path":"/b","mode":"0750","owner":"root:adm","user":"root"})").status,
      200);
  EXPECT_EQ(last().mode, 0750u);
  EXPECT_EQ(last().owner, "root:adm");
  EXPECT_EQ(last().user, "root");
  const Answer moved = post("/move?user=root", R"({"from":"/a","to":"/b","overwrite":false})");
  EXPECT_THAT(moved.body, HasSubstr(R"("path":"/b")"));
  EXPECT_EQ(last().op, FileOp::kMove);
  EXPECT_FALSE(last().overwrite);
  EXPECT_EQ(last().user, "root");
  EXPECT_EQ(post("/copy", R"({"from":"/a","to_base64":"/w=="})").status, 200);
  EXPECT_EQ(last().target, "\xff");
  EXPECT_TRUE(last().recursive);
  const Answer removed =
      test.send(Method::kDelete, std::string(kFiles) + "?path=/a&recursive=true", test.admin_key);
  EXPECT_EQ(removed.status, 204);
  EXPECT_TRUE(last().recursive);
}

TEST_F(FileRoutesTest, SendsATreeAsAnArchive) {
  session->play->parts = {"first", "second"};
  const Answer answer = get("/tar?path=/home/user/");
  EXPECT_EQ(answer.body, "firstsecond");
  EXPECT_EQ(answer.headers.get("Content-Type"), "application/x-tar");
  EXPECT_EQ(answer.headers.get("Content-Disposition"), "attachment; filename*=UTF-8''user.tar");
}

TEST_F(FileRoutesTest, StreamsWatchEvents) {
  wire::WatchEvent ready;
  ready.kind = wire::WatchKind::kReady;
  ready.directory = true;
  wire::WatchEvent renamed;
  renamed.kind = wire::WatchKind::kRenamed;
  renamed.path = "a";
  renamed.to = "b";
  session->play->parts = {wire::encode_record(ready) + wire::encode_record(renamed)};
  const Answer answer = get("/watch?path=/home&recursive=true");
  EXPECT_THAT(answer.body,
              HasSubstr("event: ready\ndata: {\"path\":\"/home\",\"directory\":true}\n\n"));
  EXPECT_THAT(answer.body,
              HasSubstr("event: renamed\ndata: {\"path\":\"/home/a\",\"to\":\"/home/b\","
                        "\"directory\":false}\n\n"));
  EXPECT_TRUE(last().recursive);
  EXPECT_TRUE(session->play->closed);
}

}  // namespace
}  // namespace glovebox::api
