#include "node/templates/dynamic_templates.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "node/async/pending_reply.h"
#include "node/links/launcher_error.h"

namespace glovebox::node {

void DynamicTemplates::keep(std::vector<TemplateDefinition> definitions) {
  for (TemplateDefinition& one : definitions) {
    std::string id = one.id;
    all_.insert_or_assign(std::move(id), Entry{.definition = std::move(one)});
  }
}

void DynamicTemplates::send_all() {
  ++launchers_;
  for (auto& [id, entry] : all_) send(entry);
}

void DynamicTemplates::send(Entry& entry) {
  const std::uint64_t request = ++requests_;
  entry.asked = request;
  entry.answered = false;
  const std::weak_ptr<void> held = hold_();
  launcher_.define(entry.definition,
                   [this, held, id = entry.definition.id, request](const Result<>& done) {
                     if (!held.expired()) answered(id, request, done);
                   });
}

void DynamicTemplates::answered(const std::string& id, std::uint64_t request,
                                const Result<>& done) {
  const auto at = all_.find(id);
  // Sent again since then, or forgotten.
  if (at == all_.end() || at->second.asked != request) return;
  at->second.answered = true;
  at->second.refusal.reset();
  // A launcher that is gone has not refused it; the next one is asked.
  if (done || !launcher_.up()) return;
  at->second.refusal = done.error();
  log::warn("the launcher refused a template",
            {{"template", id}, {"error", done.error().message()}});
}

void DynamicTemplates::on_template(const TemplateStatus& status) {
  for (auto& [id, entry] : all_) {
    if (entry.refusal && entry.definition.from == status.description.name) {
      entry.refusal.reset();
      send(entry);
    }
  }
}

Task<> DynamicTemplates::define(TemplateDefinition definition) {
  const std::shared_ptr<void> held = hold_();
  if (!launcher_.up()) co_return fail(launcher_error("the launcher is not running"));
  const std::uint64_t launcher = launchers_;
  const auto answer = std::make_shared<PendingReply<void>>(io_);
  launcher_.define(definition, [answer](Result<> done) { answer->set(std::move(done)); });
  const Clock::time_point deadline = Clock::now() + patience_;
  Result<> done = co_await PendingReply<void>::wait(answer, deadline);
  const std::string id = definition.id;
  if (!done) {
    // The launcher may have accepted it all the same.
    if (done.error().code() == Errc::kUnavailable) forget(id);
    co_return done;
  }
  Entry entry{.definition = std::move(definition), .asked = ++requests_, .answered = true};
  const auto at = all_.insert_or_assign(id, std::move(entry)).first;
  if (launcher != launchers_) send(at->second);  // another launcher was attached meanwhile
  launcher_.prepare(id);
  co_return Result<>();
}

void DynamicTemplates::forget(const std::string& id) {
  // `id` may be part of what is erased. NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const std::string copy = id;
  all_.erase(copy);
  if (!launcher_.up()) return;
  launcher_.forget_template(copy, [copy](const Result<>& done) {
    if (!done)
      log::debug("the launcher did not forget a template", {{"error", done.error().message()}});
  });
}

const TemplateStatus* DynamicTemplates::find(std::string_view id) const {
  return all_.contains(id) ? allocator_.find_template(id) : nullptr;
}

bool DynamicTemplates::settled() const {
  return std::all_of(all_.begin(), all_.end(), [](const auto& one) { return one.second.answered; });
}

std::optional<Error> DynamicTemplates::refusal_of(std::string_view id) const {
  const auto at = all_.find(id);
  return at == all_.end() ? std::nullopt : at->second.refusal;
}

}  // namespace glovebox::node
