// The filesystem calls of E2B's agent, downloads, and admission to files.
#include "base/base64.h"
#include "base/wall_clock.h"
#include "dialects/e2b/envd/file_entry.h"
#include "dialects/e2b/envd/file_paths.h"
#include "dialects/e2b/envd/signature.h"
#include "dialects/e2b/testing/files_session.h"

namespace glovebox::e2b {
namespace {

TEST(E2bPaths, AreBelowTheHomeUnlessAbsolute) {
  EXPECT_EQ(request_path("").value(), ".");
  EXPECT_EQ(request_path("~").value(), ".");
  EXPECT_EQ(request_path("~/").value(), ".");
  EXPECT_EQ(request_path("~//a/./b/").value(), "a/b");
  EXPECT_EQ(request_path("a/../../b").value(), "../b");
  EXPECT_EQ(request_path("/a//b/../c/").value(), "/a/b/../c") << "b may be a link";
  EXPECT_EQ(request_path("/").value(), "/");
  EXPECT_FALSE(request_path("~root/a"));
  EXPECT_FALSE(request_path(std::string("a\0b", 3)));
  EXPECT_FALSE(request_path(std::string(4097, 'a')));
  EXPECT_EQ(clean_path("/home/user/../b", Parents::kResolved), "/home/b");
  EXPECT_EQ(clean_path("/../..", Parents::kResolved), "/");
}

TEST(E2bEntry, HasEveryFieldAsClientsKnowIt) {
  wire::FileEntry entry = entry_at("/home/user/a.txt");
  entry.metadata = {{"e2b.k", "v"}, {"of.others", "w"}};
  EXPECT_EQ(json::serialize(entry_json(entry, entry.path)),
            R"({"name":"a.txt","type":"FILE_TYPE_FILE","path":"/home/user/a.txt","size":"5",)"
            R"("mode":420,"permissions":"-rw-r--r--","owner":"user","group":"user",)"
            R"("modifiedTime":"2026-01-02T03:04:05.678901234Z","metadata":{"k":"v"}})");
  wire::FileEntry link = entry_at("/home/user/l", wire::FileType::kSymlink);
  link.mode = 0777;
  link.user.clear();
  link.end = wire::LinkEnd{"/tmp/d", wire::FileType::kDirectory, 01777};
  const json::object object = entry_json(link, link.path);
  EXPECT_EQ(object.at("type").as_string(), "FILE_TYPE_DIRECTORY");
  EXPECT_EQ(object.at("mode").to_number<int>(), 0777);
  EXPECT_EQ(object.at("permissions").as_string(), "lrwxrwxrwx");
  EXPECT_EQ(object.at("symlinkTarget").as_string(), "/tmp/d");
  EXPECT_EQ(object.at("owner").as_string(), "1000");
  link.end.reset();
  EXPECT_EQ(entry_json(link, link.path).at("type").as_string(), "FILE_TYPE_UNSPECIFIED");
  EXPECT_EQ(permission_text(wire::FileType::kDirectory, 01777), "drwxrwxrwt");
  EXPECT_EQ(permission_text(wire::FileType::kFile, 06644), "-rwSr-Sr--");
  EXPECT_EQ(time_text(-1), "1969-12-31T23:59:59.999999999Z");
}

TEST(E2bSignature, IsAsTheClientsMakeIt) {
  EXPECT_EQ(file_signature({"/home/user/a.txt", "", FileAccess::kRead}, "tok_123"),
            "v1_cpIj9iw6H8j4zB0S5ANTvnGQeT01XQu0qBk5cwPRvS8");
  EXPECT_EQ(
      file_signature({"/home/user/a.txt", "root", FileAccess::kWrite, 1'900'000'000}, "tok_123"),
      "v1_Bad5BAUyEY5RcSAZoyb6CYmFCzWz3LFBuclAJ3VT21I");
}

TEST_F(E2bFiles, StatReportsTheAbsolutePath) {
  const api::Answer answer = call(kStat, R"({"path":"~/a.txt","unknown":1})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json::value entry = json::parse(answer.body).at("entry");
  EXPECT_EQ(entry.at("path").as_string(), "/home/user/a.txt");
  EXPECT_EQ(last().path, "a.txt");
  EXPECT_FALSE(last().follow);
  EXPECT_TRUE(last().details);
  EXPECT_EQ(last().user, "user");
}

TEST_F(E2bFiles, ErrorsHaveTheirCodes) {
  const std::pair<int, const char*> known[] = {{ENOENT, "not_found"},
                                               {ENOTDIR, "invalid_argument"},
                                               {ENOSPC, "resource_exhausted"},
                                               {EIO, "internal"}};
  for (const auto& [error, code_name] : known) {
    session->refuse = [error = error](const FileRequest&) { return error; };
    EXPECT_EQ(code(call(kStat, R"({"path":"/x"})")), code_name);
    EXPECT_EQ(code(call(kListDir, R"({"path":"/x"})")), code_name);
  }
  EXPECT_EQ(code(call(kStat, R"({"path":7})")), "invalid_argument");
  EXPECT_EQ(code(call(kStat, "[]")), "invalid_argument");
  EXPECT_EQ(code(call(kListDir, R"({"path":"/x","depth":-1})")), "invalid_argument");
}

TEST_F(E2bFiles, NoneIsAnsweredWithoutTheToken) {
  for (const Endpoint& endpoint :
       {kStat, kListDir, kMakeDir, kMove, kRemove, kWatchDir, kCreateWatcher, kGetWatcherEvents,
        kRemoveWatcher, kEnvs, kUpload, kDownload}) {
    for (const char* wrong : {"ea_0", ""}) {
      http::Request request = request_of(R"({"path":"/x","source":"/x","destination":"/y"})");
      request.headers.set("X-Access-Token", wrong);
      request.query.add("path", "/x");
      TextBody body("text", 10);
      request.body_stream = &body;
      EXPECT_EQ(run(endpoint, std::move(request)).status, 401) << endpoint.path;
    }
  }
  EXPECT_TRUE(session->asked.empty());
}

TEST_F(E2bFiles, UnknownUsersAreUnauthenticated) {
  session->refuse = [](const FileRequest&) { return EINVAL; };
  session->message = "there is no user nobody: Invalid argument";
  http::Request request = request_of(R"({"path":"/x"})");
  request.headers.add("Authorization", "Basic " + base64_encode("nobody:"));
  const api::Answer answer = run(kStat, request);
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(code(answer), "unauthenticated");
  EXPECT_EQ(last().user, "nobody");
  session->message = "look at /there is no user x: Invalid argument";
  EXPECT_EQ(run(kStat, request).status, 400) << "only the agent says that";
  http::Request number = request_of(R"({"path":"/x"})");
  number.headers.add("Authorization", "Basic " + base64_encode("1000:"));
  EXPECT_EQ(run(kStat, number).status, 401);
}

TEST_F(E2bFiles, RequestsThatTheUserMayNotMakeAreRepeatedAsRoot) {
  session->refuse = [](const FileRequest& request) {
    return request.user == "root" || request.op == FileOp::kStat ? 0 : EACCES;
  };
  EXPECT_EQ(call(kMakeDir, R"({"path":"../d"})").status, 200);
  EXPECT_EQ(last().user, "root");
  EXPECT_EQ(last().owner, "user");
  EXPECT_EQ(last().path, "/home/user/../d") << "his home, and not root's";
  session->asked.clear();
  session->refuse = [](const FileRequest&) { return EACCES; };
  EXPECT_EQ(code(call(kRemove, R"({"path":"/d"})")), "permission_denied");
  EXPECT_EQ(session->asked.size(), 2u) << "once more, and not for ever";
}

TEST_F(E2bFiles, MakesMovesAndRemoves) {
  session->entries = 0;
  const api::Answer there = call(kMakeDir, R"({"path":"/d"})");
  EXPECT_EQ(there.status, 409);
  EXPECT_EQ(code(there), "already_exists");
  session->refuse = [](const FileRequest&) { return EEXIST; };
  EXPECT_EQ(code(call(kMakeDir, R"({"path":"/f"})")), "invalid_argument");
  session->refuse = nullptr;
  const api::Answer moved = call(kMove, R"({"source":"a","destination":"b/c"})");
  EXPECT_EQ(json::parse(moved.body).at("entry").at("path").as_string(), "/home/user/b/c");
  EXPECT_EQ(last().target, "b/c");
  EXPECT_EQ(call(kRemove, R"({"path":"a"})").body, "{}");
  EXPECT_TRUE(last().recursive);
  session->refuse = [](const FileRequest&) { return ENOENT; };
  EXPECT_EQ(call(kRemove, R"({"path":"a"})").status, 200) << "it is gone";
  EXPECT_EQ(code(call(kMove, R"({"source":"a","destination":"b"})")), "not_found");
  EXPECT_EQ(code(call(kMove, R"({"source":"a"})")), "invalid_argument");
}

TEST_F(E2bFiles, ListsADirectory) {
  session->type = wire::FileType::kDirectory;
  wire::FileEntry below = entry_at("/x");
  for (const char* name : {"a", "d", "d/b"}) {
    below.path = name;
    session->content += wire::encode_record(below);
  }
  const api::Answer answer = call(kListDir, R"({"path":"","depth":2})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json::array entries = json::parse(answer.body).at("entries").as_array();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].at("path").as_string(), "/home/user/a");
  EXPECT_EQ(entries[2].at("path").as_string(), "/home/user/d/b");
  EXPECT_EQ(entries[2].at("name").as_string(), "b");
  EXPECT_EQ(last().depth, 2u);
  EXPECT_EQ(call(kListDir, R"({"path":"/"})").body, R"({"entries":[]})");
  EXPECT_EQ(last().depth, 1u);
  session->content = "not a record";
  EXPECT_EQ(call(kListDir, R"({"path":"/"})").status, 500);
}

TEST_F(E2bFiles, DownloadsWithALength) {
  session->content = "12345 and more";
  http::Request request = request_of();
  request.query.add("path", "a.txt");
  const api::Answer answer = run(kDownload, request);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "12345");
  EXPECT_EQ(answer.headers.get("Content-Length"), "5");
  session->content = "345";
  request.headers.add("Range", "bytes=2-");
  EXPECT_EQ(run(kDownload, request).status, 206);
  EXPECT_EQ(last().from, 2u);
  const std::pair<int, int> known[] = {{ENOENT, 404}, {EISDIR, 400}, {ENOSPC, 507}};
  for (const auto& [error, status] : known) {
    session->refuse = [error = error](const FileRequest&) { return error; };
    const api::Answer refused = run(kDownload, request);
    EXPECT_EQ(refused.status, status);
    EXPECT_EQ(json::parse(refused.body).at("code").to_number<int>(), status);
  }
  session->refuse = [](const FileRequest&) { return ENOENT; };
  EXPECT_EQ(run(kDownload, request).body,
            R"({"code":404,"message":"path 'a.txt' does not exist"})");
}

TEST_F(E2bFiles, ASignatureOpensOneFileOfItsSandbox) {
  const auto get = [&](SignedFile file, const std::string& signature, bool routed) {
    http::Request request;
    if (routed) request.path_params.add("id", session->id().str());
    request.query.add("path", file.path);
    if (!file.user.empty()) request.query.add("username", file.user);
    if (file.expires_s) request.query.add("signature_expiration", std::to_string(*file.expires_s));
    if (!signature.empty()) request.query.add("signature", signature);
    session->content = "12345";
    return run(kDownload, request);
  };
  const std::int64_t now = wall_clock_ms() / 1000;
  for (const bool routed : {false, true}) {
    const SignedFile file{"/a", "", FileAccess::kRead, now + 60};
    const std::string good = file_signature(file, token);
    EXPECT_EQ(get(file, good, routed).status, 200);
    EXPECT_EQ(last().path, "/a");
    EXPECT_EQ(get({"/b", "", FileAccess::kRead, now + 60}, good, routed).body,
              R"({"code":401,"message":"invalid signature"})");
    EXPECT_EQ(get({"/a", "root", FileAccess::kRead, now + 60}, good, routed).status, 401);
    EXPECT_EQ(get({"/a", "", FileAccess::kRead, now + 61}, good, routed).status, 401);
    EXPECT_EQ(get({"/a", "", FileAccess::kRead}, good, routed).status, 401);
    const SignedFile old{"/a", "", FileAccess::kRead, now - 1};
    EXPECT_EQ(get(old, file_signature(old, token), routed).body,
              R"({"code":401,"message":"signature is already expired"})");
    const SignedFile write{"/a", "", FileAccess::kWrite};
    EXPECT_EQ(get({"/a", ""}, file_signature(write, token), routed).status, 401);
    EXPECT_EQ(get({"/a", ""},
                  file_signature({"/a", ""}, test.api->e2b.tokens().token_of("sbother")), routed)
                  .status,
              401);
    EXPECT_EQ(get({"/a", ""}, "", routed).status, 401);
  }
  http::Request wrong = request_of();
  wrong.headers.set("X-Access-Token", "ea_0");
  wrong.query.add("path", "/a");
  EXPECT_EQ(run(kDownload, wrong).status, 401);
  test.sessions.known.clear();
  EXPECT_EQ(get({"/a", ""}, file_signature({"/a", ""}, token), false).status, 502);
}

TEST_F(E2bFiles, ASignatureIsOfAPathAndAUserWithinTheirBounds) {
  const auto status = [&](const SignedFile& file) {
    std::vector<int> all;
    for (const bool routed : {false, true}) {
      http::Request request;
      if (routed) request.path_params.add("id", session->id().str());
      request.query.add("path", file.path);
      request.query.add("username", file.user);
      request.query.add("signature", file_signature(file, token));
      session->content = "12345";
      all.push_back(run(kDownload, request).status);
    }
    EXPECT_EQ(all[0], all[1]);
    return all[0];
  };
  EXPECT_EQ(status({std::string(wire::kMaxSessionPath, 'a'), ""}), 200);
  EXPECT_EQ(status({std::string(wire::kMaxSessionPath + 1, 'a'), ""}), 401);
  EXPECT_EQ(status({"a", std::string(wire::kMaxUserName, 'u')}), 200);
  EXPECT_EQ(status({"a", std::string(wire::kMaxUserName + 1, 'u')}), 401);
}

TEST_F(E2bFiles, ASignatureHasItsForm) {
  const std::string good = file_signature({"/a", ""}, token);
  const auto status = [&](const std::string& signature, const char* expires) {
    http::Request request;
    request.query.add("path", "/a");
    request.query.add("signature", signature);
    if (expires != nullptr) request.query.add("signature_expiration", expires);
    session->content = "12345";
    return run(kDownload, request).status;
  };
  EXPECT_EQ(status(good, nullptr), 200);
  for (const std::string& bad :
       {good + "a", good.substr(0, good.size() - 1), "v2_" + good.substr(3), std::string()}) {
    EXPECT_EQ(status(bad, nullptr), 401) << bad;
  }
  for (const char* expires : {"", "x", "1x", "99999999999999999999"}) {
    EXPECT_EQ(status(good, expires), 401) << expires;
  }
}

TEST_F(E2bFiles, AClientThatHasAPartOfAnOlderFileGetsTheWhole) {
  session->content = "12345";
  http::Request request = request_of();
  request.query.add("path", "a.txt");
  request.headers.add("Range", "bytes=2-");
  request.headers.add("If-Range", "\"old\"");
  const api::Answer answer = run(kDownload, request);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "12345");
  EXPECT_EQ(last().from, 0u);
}

TEST_F(E2bFiles, ARangeToTheLastNumberIsToTheEnd) {
  session->content = "12345";
  http::Request request = request_of();
  request.query.add("path", "a.txt");
  request.headers.add("Range", "bytes=0-18446744073709551615");
  EXPECT_EQ(run(kDownload, request).status, 206);
  EXPECT_EQ(last().most, UINT64_MAX);
}

TEST_F(E2bFiles, ReportsHealthAndEnvironment) {
  http::Request plain;
  plain.path_params.add("id", session->id().str());
  EXPECT_EQ(run(kHealth, plain).status, 204);
  EXPECT_EQ(run(kEnvs, plain).status, 401);
  test.sessions.known.begin()->second.env = {"A=b=c", "no variable", "D="};
  EXPECT_EQ(run(kEnvs, request_of()).body, R"({"A":"b=c","D":""})");
  test.sessions.known.begin()->second.state = "paused";
  EXPECT_EQ(run(kHealth, plain).status, 502);
}

}  // namespace
}  // namespace glovebox::e2b
