// For tests: a node with sessions whose agents say what the test has them say.
#pragma once

#include "node/testing/node_fixture.h"

namespace glovebox::node {

class SessionTest : public NodeTest {
 protected:
  ~SessionTest() override {
    if (!node) return;
    service().on_session_ended({});
    service().on_adopted({});
  }

  // Runs a coroutine to its end, and gives what it returns.
  template <class T>
  T await(boost::asio::awaitable<T> coroutine) {
    std::optional<T> result;
    boost::asio::co_spawn(io, std::move(coroutine), [&](std::exception_ptr error, T value) {
      if (error) std::rethrow_exception(error);
      result.emplace(std::move(value));
    });
    until([&] { return result.has_value(); });
    return std::move(*result);
  }
  // The same for one that is to go on while the test does something.
  template <class T>
  std::shared_ptr<std::optional<T>> spawn(boost::asio::awaitable<T> coroutine) {
    auto result = std::make_shared<std::optional<T>>();
    boost::asio::co_spawn(io, std::move(coroutine), [result](std::exception_ptr error, T value) {
      if (error) std::rethrow_exception(error);
      result->emplace(std::move(value));
    });
    return result;
  }

  void begin_base() {
    node = std::make_unique<Node>(io, options);
    known = {status_of("base", RuntimeKind::kNone, 0, 0)};
    listen();
    attach();
    until([&] { return service().adopted(); });
  }
  void listen() {
    service().on_session_ended([this](const SessionEnded& one) { ended.push_back(one); });
    service().on_adopted([this] { ++adoptions; });
  }
  // Another server in the place of this one, as after kill -9.
  void restart_server() {
    ended.clear();
    adoptions = 0;
    node.reset();
    settle();
    node = std::make_unique<Node>(io, options);
    listen();
    node->attach_launcher(launcher.connect_again());
    for (const TemplateStatus& status : known) launcher.tell(status);
  }

  SessionService& service() { return node->sessions(); }
  static SessionSpec spec() {
    SessionSpec wanted;
    wanted.template_name = "base";
    wanted.owner = "owner";
    return wanted;
  }
  std::shared_ptr<Session> make() {
    auto session = await(service().create_session(spec(), nullptr));
    EXPECT_TRUE(session.has_value()) << session.error().message();
    return std::move(*session);
  }
  FakeAgent& agent(const Session& session) { return launcher.session_agent(session.id().str()); }

  static ProcessSpec program() {
    ProcessSpec wanted;
    wanted.exec.argv = {"/bin/cat"};
    wanted.has_stdin = true;
    return wanted;
  }
  Session::Started start(Session& session, ProcessSpec wanted = program()) {
    auto started = await(session.start(std::move(wanted), Session::Attach::kYes));
    EXPECT_TRUE(started.has_value()) << started.error().message();
    return std::move(*started);
  }
  Attachment::Event next(Attachment& attachment) {
    return await(attachment.next(Clock::now() + seconds(10)));
  }
  Attachment::Event next_now(Attachment& attachment) {
    settle();
    return await(attachment.next(Clock::now()));
  }
  std::string text(Attachment& attachment) {
    const Attachment::Event event = next(attachment);
    const auto* chunk = std::get_if<Attachment::Chunk>(&event);
    return chunk != nullptr ? chunk->bytes : "(no chunk)";
  }
  // The session was ended because its agent broke the protocol, and the reason says so.
  void expect_broken(const Session& session) {
    until([&] { return !ended.empty(); });
    EXPECT_EQ(ended[0].id, session.id());
    EXPECT_FALSE(ended[0].was_asked);
    EXPECT_THAT(ended[0].why, HasSubstr("broke the protocol"));
    EXPECT_FALSE(session.alive());
    EXPECT_TRUE(launcher.alive.empty());
  }

  std::vector<SessionEnded> ended;
  int adoptions = 0;
};

}  // namespace glovebox::node
