#include "dialects/mcp/sandbox.h"

#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "sessions/session_keeper.h"
#include "model/session.h"

namespace glovebox::mcp {
namespace {

using Clock = std::chrono::steady_clock;

// A sandbox's time is not begun anew for every call: that is a write to the store.
constexpr std::chrono::seconds kRefresh{30};
constexpr std::chrono::seconds kSettles{15};
constexpr std::chrono::milliseconds kLookAgain{50};

// Whether its time was begun anew so lately that it outlives any call: one that begins now can wait
// for others and then run, and is given up by then.
bool is_kept(const routing::App& app, const Conversation& conversation) {
  const std::chrono::seconds ttl(app.settings.mcp.ttl_s);
  return Clock::now() - conversation.reached < kRefresh &&
         ttl > longest_call(app.settings.mcp) + kRefresh;
}

struct TurnTaken {
  std::shared_ptr<Conversation> conversation;
  ~TurnTaken() { conversation->lock.unlock(); }
};

bool is_usable(const routing::App& app, std::string_view name) {
  const TemplateStatus* status = app.node.find_template(name);
  return status != nullptr && status->state != RuntimeState::kFailed &&
         status->state != RuntimeState::kRemoved;
}

// Null: it is over, and conversation.lost says why. An error: it is there and cannot be used now.
Task<std::shared_ptr<node::Session>> find_sandbox(routing::App& app,
                                                  std::shared_ptr<Conversation> conversation,
                                                  std::shared_ptr<node::CancelFlag> cancel) {
  const auto now = Clock::now();
  if (is_kept(app, *conversation)) {
    auto session = app.sessions.use(conversation->project, conversation->sandbox);
    if (session) co_return std::move(*session);
  }
  asio::steady_timer moment(app.io);
  while (true) {
    auto reached = co_await app.keeper->reach(conversation->project, conversation->sandbox,
                                              app.settings.mcp.ttl_s);
    if (reached) {
      conversation->reached = Clock::now();
      auto session = app.sessions.use(conversation->project, conversation->sandbox);
      if (session) co_return std::move(*session);
    }
    const auto record = co_await app.keeper->get(conversation->project, conversation->sandbox);
    if (!record || is_over(record->state)) {
      conversation->lost = record && !record->reason.empty() ? record->reason : "it ended";
      conversation->sandbox.clear();
      co_return nullptr;
    }
    if (!reached) co_return fail(std::move(reached.error()));
    // It has just ended, or a server that has just started has not taken it over: soon one or the
    // other is told.
    if (Clock::now() > now + kSettles || cancel->cancelled()) {
      co_return fail(Errc::kUnavailable, "the sandbox cannot be used just now");
    }
    moment.expires_after(kLookAgain);
    co_await moment.async_wait(kAwaitTuple);
  }
}

sessions::CreateRequest wish_of(const routing::App& app, const Conversation& conversation) {
  const Settings& settings = app.settings.mcp;
  sessions::CreateRequest wish;
  wish.template_name = template_of(app);
  wish.profile.cpu_thousandths = settings.cpu_thousandths;
  wish.profile.memory_bytes = settings.memory_bytes;
  wish.profile.disk_bytes = settings.disk_bytes;
  wish.ttl_s = settings.ttl_s;
  wish.agent_id = conversation.agent_id();
  wish.metadata["made_by"] = "mcp";
  if (!conversation.client.empty()) wish.metadata["mcp_client"] = conversation.client;
  return wish;
}

}  // namespace

std::string template_of(const routing::App& app) {
  if (!app.settings.mcp.template_name.empty()) return app.settings.mcp.template_name;
  return is_usable(app, "python-data") ? "python-data" : "python";
}

Task<std::shared_ptr<node::Session>> enter_sandbox(routing::App& app, http::Request& request, routing::Caller caller,
                                                   std::shared_ptr<Conversation> conversation,
                                                   std::shared_ptr<node::CancelFlag> cancel) {
  CO_TRY_OK(co_await conversation->lock.lock(cancel));
  const TurnTaken turn{conversation};
  if (conversation->has_ended) co_return fail(Errc::kUnavailable, "the conversation has ended");
  if (!conversation->sandbox.empty()) {
    CO_TRY(auto session, co_await find_sandbox(app, conversation, cancel));
    if (session != nullptr) co_return session;
  }
  sessions::CreateRequest wish = wish_of(app, *conversation);
  routing::Creation creation = co_await routing::create_session_for(app, request, std::move(caller), std::move(wish));
  if (!creation.made) {
    const auto& problem = creation.refusal.problem;
    std::string why = problem ? problem->message : "the server could not make one";
    const std::string_view later = creation.refusal.headers.get("Retry-After");
    if (!later.empty()) why += "; try again in " + std::string(later) + " s";
    co_return fail(Errc::kUnavailable, "there is no sandbox for this conversation: " + why);
  }
  conversation->sandbox = creation.made->record.id.str();
  conversation->reached = Clock::now();
  co_return app.sessions.use(conversation->project, conversation->sandbox);
}

asio::awaitable<void> keep_sandbox(routing::App& app, std::shared_ptr<Conversation> conversation) {
  if (conversation->sandbox.empty() || is_kept(app, *conversation)) co_return;
  // One that is paused or over stays so.
  const auto kept =
      co_await app.keeper->keep_alive(conversation->project, conversation->sandbox, std::nullopt);
  if (kept) conversation->reached = Clock::now();
}

Task<bool> end_sandbox(routing::App& app, std::shared_ptr<Conversation> conversation) {
  auto nobody = std::make_shared<node::CancelFlag>();
  CO_TRY_OK(co_await conversation->lock.lock(nobody));
  const TurnTaken turn{conversation};
  conversation->lost.clear();
  const std::string id = std::exchange(conversation->sandbox, {});
  if (id.empty()) co_return false;
  const auto destroyed = co_await app.keeper->destroy(conversation->project, id);
  // Somebody else was faster.
  const bool was_gone = !destroyed && (destroyed.error().code() == Errc::kNotFound ||
                                       destroyed.error().code() == Errc::kConflict);
  if (!destroyed && !was_gone) co_return fail(Error(destroyed.error()));
  co_return true;
}

}  // namespace glovebox::mcp
