#include "dialects/mcp/conversation_sandboxes.h"

#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "model/session.h"
#include "wire/packages/package_options.h"

namespace glovebox::mcp {
namespace {

using Clock = std::chrono::steady_clock;

// A sandbox's time is not renewed for every call, because that is a write to the store.
constexpr std::chrono::seconds kRenewAfter{30};
constexpr std::chrono::seconds kSettleTime{15};
constexpr std::chrono::milliseconds kPollInterval{50};

struct HeldLock {
  std::shared_ptr<Conversation> conversation;
  ~HeldLock() { conversation->lock.unlock(); }
};

std::string refusal_text(const http::Response& refusal) {
  std::string why = refusal.problem ? refusal.problem->message : "the server could not create one";
  const std::string_view later = refusal.headers.get("Retry-After");
  if (!later.empty()) why += "; try again in " + std::string(later) + " s";
  return "there is no sandbox for this conversation: " + why;
}

}  // namespace

bool ConversationSandboxes::is_usable(std::string_view template_name) const {
  const TemplateStatus* status = deps_.node.find_template(template_name);
  return status != nullptr && status->state != RuntimeState::kFailed &&
         status->state != RuntimeState::kRemoved;
}

std::string ConversationSandboxes::template_name(const SandboxOptions& options) const {
  if (!settings_.template_name.empty()) return settings_.template_name;
  if (!options.dependencies.empty()) return wire::default_template(options.dependencies);
  return is_usable("python-data") ? "python-data" : "python";
}

bool ConversationSandboxes::is_kept(const Conversation& conversation) const {
  const std::chrono::seconds ttl(settings_.ttl_s);
  return Clock::now() - conversation.renewed < kRenewAfter &&
         ttl > longest_call(settings_) + kRenewAfter;
}

Task<std::shared_ptr<node::Session>> ConversationSandboxes::find(
    std::shared_ptr<Conversation> conversation, std::shared_ptr<node::CancelFlag> cancel) {
  const auto began = Clock::now();
  if (is_kept(*conversation)) {
    auto session = deps_.sessions.use(conversation->project, conversation->sandbox);
    if (session) co_return std::move(*session);
  }
  asio::steady_timer timer(deps_.io);
  while (true) {
    auto connected = co_await deps_.lifecycle.connect(conversation->project, conversation->sandbox,
                                                      settings_.ttl_s);
    if (connected) {
      conversation->renewed = Clock::now();
      auto session = deps_.sessions.use(conversation->project, conversation->sandbox);
      if (session) co_return std::move(*session);
    }
    const auto record = co_await deps_.registry.get(conversation->project, conversation->sandbox);
    if (!record || is_over(record->state)) {
      conversation->lost = record && !record->reason.empty() ? record->reason : "it ended";
      conversation->sandbox.clear();
      co_return nullptr;
    }
    if (!connected) co_return fail(std::move(connected.error()));
    // It is ending, or a server that has just started has not adopted it yet. Either is decided
    // soon.
    if (Clock::now() > began + kSettleTime || cancel->cancelled()) {
      co_return fail(Errc::kUnavailable, "the sandbox is not available at the moment; try again");
    }
    timer.expires_after(kPollInterval);
    co_await timer.async_wait(kAwaitTuple);
  }
}

sessions::CreateRequest ConversationSandboxes::create_request(
    const Conversation& conversation) const {
  sessions::CreateRequest request;
  request.profile.image = conversation.options.image;
  if (request.profile.image.empty()) request.template_name = template_name(conversation.options);
  request.profile.dependencies = conversation.options.dependencies;
  if (!conversation.options.net.is_none()) request.profile.net = conversation.options.net;
  request.profile.cpu_thousandths = settings_.cpu_thousandths;
  request.profile.memory_bytes = settings_.memory_bytes;
  request.profile.disk_bytes = settings_.disk_bytes;
  request.ttl_s = settings_.ttl_s;
  request.agent_id = conversation.agent_id();
  request.metadata["made_by"] = "mcp";
  if (!conversation.client.empty()) request.metadata["mcp_client"] = conversation.client;
  return request;
}

Task<std::shared_ptr<node::Session>> ConversationSandboxes::enter(
    http::Request& request, routing::Caller caller, std::shared_ptr<Conversation> conversation,
    std::shared_ptr<node::CancelFlag> cancel) {
  CO_TRY_OK(co_await conversation->lock.lock(cancel));
  const HeldLock lock{conversation};
  if (conversation->has_ended) co_return fail(Errc::kUnavailable, "the conversation has ended");
  if (!conversation->sandbox.empty()) {
    CO_TRY(auto session, co_await find(conversation, cancel));
    if (session != nullptr) co_return session;
  }
  sessions::CreateRequest wanted = create_request(*conversation);
  const routing::CreationResult creation =
      co_await deps_.creation.create(request, std::move(caller), std::move(wanted));
  if (!creation.made) co_return fail(Errc::kUnavailable, refusal_text(creation.refusal));
  conversation->sandbox = creation.made->record.id.str();
  conversation->renewed = Clock::now();
  co_return deps_.sessions.use(conversation->project, conversation->sandbox);
}

asio::awaitable<void> ConversationSandboxes::keep(std::shared_ptr<Conversation> conversation) {
  if (conversation->sandbox.empty() || is_kept(*conversation)) co_return;
  // A sandbox that is paused or has ended stays so.
  const auto kept = co_await deps_.lifecycle.keep_alive(conversation->project,
                                                        conversation->sandbox, std::nullopt);
  if (kept) conversation->renewed = Clock::now();
}

Task<bool> ConversationSandboxes::end(std::shared_ptr<Conversation> conversation) {
  CO_TRY_OK(co_await conversation->lock.lock(sessions::never_cancelled()));
  const HeldLock lock{conversation};
  conversation->lost.clear();
  const std::string id = std::exchange(conversation->sandbox, {});
  if (id.empty()) co_return false;
  const auto destroyed = co_await deps_.lifecycle.destroy(conversation->project, id);
  // Another request may have ended it first.
  const bool was_gone = !destroyed && (destroyed.error().code() == Errc::kNotFound ||
                                       destroyed.error().code() == Errc::kConflict);
  if (!destroyed && !was_gone) co_return fail(Error(destroyed.error()));
  co_return true;
}

}  // namespace glovebox::mcp
