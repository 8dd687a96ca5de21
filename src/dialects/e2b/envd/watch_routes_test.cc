// Watches, streamed and polled.
#include "dialects/e2b/envd/watchers.h"
#include "dialects/e2b/testing/files_session.h"

namespace glovebox::e2b {
namespace {

std::vector<json::value> messages(std::string_view body) {
  std::vector<json::value> all;
  while (body.size() >= 5) {
    std::size_t size = 0;
    for (int i = 1; i < 5; ++i) size = size << 8 | static_cast<unsigned char>(body[i]);
    json::value message = json::parse(body.substr(5, size));
    if (body[0] == 2) message = json::object{{"end", message}};
    all.push_back(std::move(message));
    body.remove_prefix(5 + size);
  }
  return all;
}

std::string watch_records() {
  using wire::WatchEvent;
  using wire::WatchKind;
  std::string records;
  for (const WatchEvent& event : {WatchEvent{WatchKind::kReady, false, "", ""},
                                  WatchEvent{WatchKind::kCreated, false, "a", ""},
                                  WatchEvent{WatchKind::kWritten, false, "a", ""},
                                  WatchEvent{WatchKind::kRenamed, false, "a", "s/b"},
                                  WatchEvent{WatchKind::kAttribute, true, "s", ""},
                                  WatchEvent{WatchKind::kRemoved, false, "s/b", ""}}) {
    records += wire::encode_record(event);
  }
  return records;
}

TEST_F(E2bFiles, AWatchReportsEventsInOrder) {
  session->type = wire::FileType::kDirectory;
  session->content = watch_records();
  const api::Answer answer = call(kWatchDir, R"({"path":"d","recursive":true})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.get("Content-Type"), "application/connect+json");
  std::string received;
  for (const json::value& message : messages(answer.body))
    received += json::serialize(message) + "\n";
  EXPECT_EQ(received,
            R"({"start":{}}
{"filesystem":{"name":"a","type":"EVENT_TYPE_CREATE"}}
{"filesystem":{"name":"a","type":"EVENT_TYPE_WRITE"}}
{"filesystem":{"name":"a","type":"EVENT_TYPE_RENAME"}}
{"filesystem":{"name":"s/b","type":"EVENT_TYPE_CREATE"}}
{"filesystem":{"name":"s","type":"EVENT_TYPE_CHMOD"}}
{"filesystem":{"name":"s/b","type":"EVENT_TYPE_REMOVE"}}
{"end":{}}
)");
  EXPECT_TRUE(last().recursive);
}

TEST_F(E2bFiles, AFailedWatchReportsItsErrorInTheStream) {
  session->refuse = [](const FileRequest&) { return ENOENT; };
  const api::Answer missing = call(kWatchDir, R"({"path":"d"})");
  EXPECT_EQ(missing.status, 200);
  EXPECT_EQ(messages(missing.body).back().at("end").at("error").at("code").as_string(),
            "not_found");
  session->refuse = nullptr;
  const api::Answer file = call(kWatchDir, R"({"path":"f"})");
  EXPECT_EQ(messages(file.body).back().at("end").at("error").at("code").as_string(),
            "invalid_argument");
  session->type = wire::FileType::kDirectory;
  session->content =
      wire::encode_record(wire::WatchEvent{wire::WatchKind::kOverflow, false, "", ""});
  const api::Answer lost = call(kWatchDir, R"({"path":"d"})");
  EXPECT_EQ(messages(lost.body).back().at("end").at("error").at("code").as_string(), "internal");
}

TEST_F(E2bFiles, AWatchEndsAtItsDeadlineAndIsCutWithItsSandbox) {
  session->type = wire::FileType::kDirectory;
  session->stays_open = true;
  http::Request request = request_of(R"({"path":"d"})");
  request.headers.add("Connect-Timeout-Ms", "30");
  EXPECT_EQ(
      messages(run(kWatchDir, request).body).back().at("end").at("error").at("code").as_string(),
      "deadline_exceeded");
  session->stays_open = false;
  session->is_alive = false;
  EXPECT_EQ(call(kWatchDir, R"({"path":"d"})").status, -1);
}

TEST_F(E2bFiles, AWatchWithoutATimeHasNone) {
  session->type = wire::FileType::kDirectory;
  for (const char* none : {"0", "", "x", "-1", "1x", "1000000001"}) {
    session->content = watch_records();
    http::Request request = request_of(R"({"path":"d"})");
    request.headers.add("Connect-Timeout-Ms", none);
    request.headers.add("Keepalive-Ping-Interval", none);
    const api::Answer answer = run(kWatchDir, request);
    EXPECT_EQ(json::serialize(messages(answer.body).back()), R"({"end":{}})") << none;
    EXPECT_EQ(answer.body.find("keepalive"), std::string::npos) << none;
  }
}

TEST_F(E2bFiles, AWatchThatIsSilentSendsKeepalives) {
  session->type = wire::FileType::kDirectory;
  session->stays_open = true;
  http::Request request = request_of(R"({"path":"d"})");
  request.headers.add("Connect-Timeout-Ms", "1500");
  request.headers.add("Keepalive-Ping-Interval", "1");
  EXPECT_NE(run(kWatchDir, request).body.find(R"({"keepalive":{}})"), std::string::npos);
}

TEST_F(E2bFiles, AWatcherIsPolledAndEmptied) {
  session->type = wire::FileType::kDirectory;
  session->stays_open = true;
  session->content = wire::encode_record(wire::WatchEvent{wire::WatchKind::kReady, false, "", ""});
  const api::Answer made = call(kCreateWatcher, R"({"path":"d","includeEntry":true})");
  ASSERT_EQ(made.status, 200) << made.body;
  const std::string id(json::parse(made.body).at("watcherId").as_string());
  const std::string body = json::serialize(json::object{{"watcherId", id}});
  EXPECT_EQ(call(kGetWatcherEvents, body).body, R"({"events":[]})");
  session->content = watch_records();
  const api::Answer polled = call(kGetWatcherEvents, body);
  const json::array events = json::parse(polled.body).at("events").as_array();
  ASSERT_EQ(events.size(), 6u) << polled.body;
  EXPECT_EQ(events[0].at("entry").at("path").as_string(), "/home/user/d/a");
  EXPECT_FALSE(events[2].as_object().contains("entry")) << "the old name of a rename";
  EXPECT_EQ(call(kGetWatcherEvents, body).body, R"({"events":[]})");
  EXPECT_EQ(call(kRemoveWatcher, body).body, "{}");
  EXPECT_EQ(code(call(kRemoveWatcher, body)), "not_found");
  EXPECT_EQ(code(call(kGetWatcherEvents, body)), "not_found");
}

TEST_F(E2bFiles, AWatcherEndsWithItsSandbox) {
  session->type = wire::FileType::kDirectory;
  session->stays_open = true;
  ASSERT_EQ(call(kCreateWatcher, R"({"path":"d"})").status, 200);
  EXPECT_EQ(test.api->e2b.watchers().size(), 1u);
  session->is_alive = false;
  session->stays_open = false;
  test.run_until([&] { return test.api->e2b.watchers().size() == 0; });
}

}  // namespace
}  // namespace glovebox::e2b
