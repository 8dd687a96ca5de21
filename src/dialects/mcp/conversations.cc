#include "dialects/mcp/conversations.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/id.h"
#include "model/image.h"
#include "wire/network/net_policy_json.h"

namespace glovebox::mcp {
namespace {

constexpr std::size_t kIdLength = 32;  // of [a-z0-9]: 165 bits
constexpr std::size_t kMaxEarly = 16;
constexpr std::string_view kPrefix = "mc";

bool is_conversation_id(std::string_view text) {
  const auto is_allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return text.size() == kPrefix.size() + kIdLength && text.starts_with(kPrefix) &&
         std::all_of(text.begin(), text.end(), is_allowed);
}

// Those of the sandbox that a conversation has, for the next one.
SandboxOptions options_of(const store::SessionRecord& record) {
  SandboxOptions options;
  options.dependencies = record.dependencies;
  if (record.template_id.empty()) options.image = variable_in(record.env, kImageVariable);
  boost::system::error_code error;
  const boost::json::value net = boost::json::parse(record.net, error);
  if (auto policy = wire::read_net_policy(net, "net"); !error && policy) options.net = *policy;
  return options;
}

}  // namespace

std::shared_ptr<node::CancelFlag> Conversation::begin_call(const std::string& call_id) {
  if (calls.size() >= kMaxCalls || calls.contains(call_id)) return nullptr;
  auto flag = std::make_shared<node::CancelFlag>();
  calls.emplace(call_id, flag);
  const auto early = std::find(cancelled_early.begin(), cancelled_early.end(), call_id);
  if (early != cancelled_early.end()) {
    cancelled_early.erase(early);
    flag->cancel();
  }
  return flag;
}

void Conversation::cancel_call(const std::string& call_id) {
  const auto found = calls.find(call_id);
  if (found != calls.end()) {
    const auto flag = found->second;  // cancel() may end the call and erase the entry
    if (!flag->cancelled()) flag->cancel();
    return;
  }
  cancelled_early.push_back(call_id);
  if (cancelled_early.size() > kMaxEarly) cancelled_early.pop_front();
}

void Conversation::cancel_all() {
  const auto all = calls;
  for (const auto& one : all) {
    if (!one.second->cancelled()) one.second->cancel();
  }
}

std::shared_ptr<Conversation> Conversations::add(std::string id, std::string project) {
  auto made = std::make_shared<Conversation>(io_, id, std::move(project));
  made->used = Clock::now();
  by_id_.emplace(std::move(id), made);
  return made;
}

Result<std::shared_ptr<Conversation>> Conversations::begin(std::string project) {
  forget_idle(Clock::now());
  const auto is_theirs = [&project](const auto& one) { return one.second->project == project; };
  const auto theirs =
      static_cast<std::uint64_t>(std::count_if(by_id_.begin(), by_id_.end(), is_theirs));
  if (theirs >= settings_.conversations && !drop_oldest(&project)) {
    return fail(Errc::kResourceExhausted,
                "this project has " + std::to_string(theirs) +
                    " active conversations already (mcp.conversations); end one of them");
  }
  if (by_id_.size() >= kMaxOfAll && !drop_oldest(nullptr)) {
    return fail(Errc::kResourceExhausted, "too many conversations on this server; try again later");
  }
  return add(std::string(kPrefix) + random_label(kIdLength), std::move(project));
}

std::shared_ptr<Conversation> Conversations::find(const std::string& project, std::string_view id) {
  const auto found = by_id_.find(id);
  if (found != by_id_.end()) {
    const auto& known = found->second;
    const auto now = Clock::now();
    if (known->project != project || known->has_ended || is_idle(*known, now)) return nullptr;
    known->used = now;
    return known;
  }
  // Begun before the server was restarted, and its sandbox still lives.
  if (!is_conversation_id(id) || by_id_.size() >= kMaxOfAll) return nullptr;
  const auto record = registry_.of_agent(project, agent_id_of(id));
  if (!record) return nullptr;
  auto again = add(std::string(id), project);
  again->sandbox = record->id.str();
  again->options = options_of(*record);
  return again;
}

void Conversations::end(const Conversation& conversation) {
  const auto found = by_id_.find(conversation.id);
  if (found != by_id_.end()) by_id_.erase(found);
}

void Conversations::forget_idle(Clock::time_point now) {
  std::erase_if(by_id_, [this, now](const auto& one) { return is_idle(*one.second, now); });
}

bool Conversations::is_idle(const Conversation& conversation, Clock::time_point now) const {
  return conversation.calls.empty() && now - conversation.used > settings_.idle;
}

bool Conversations::has_state(const Conversation& conversation) const {
  if (!conversation.calls.empty()) return true;
  return !conversation.sandbox.empty() &&
         registry_.of_agent(conversation.project, conversation.agent_id()).has_value();
}

bool Conversations::drop_oldest(const std::string* project) {
  auto oldest = by_id_.end();
  for (auto one = by_id_.begin(); one != by_id_.end(); ++one) {
    const Conversation& conversation = *one->second;
    if (project != nullptr && conversation.project != *project) continue;
    const bool is_older = oldest == by_id_.end() || conversation.used < oldest->second->used;
    if (is_older && !has_state(conversation)) oldest = one;
  }
  if (oldest == by_id_.end()) return false;
  by_id_.erase(oldest);
  return true;
}

}  // namespace glovebox::mcp
