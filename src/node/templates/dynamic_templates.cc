#include "node/templates/dynamic_templates.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "node/async/pending_reply.h"

namespace glovebox::node {

void OwnTemplates::keep(std::vector<TemplateDefinition> definitions) {
  for (TemplateDefinition& one : definitions) {
    std::string id = one.id;
    all_.insert_or_assign(std::move(id), Own{.definition = std::move(one)});
  }
}

void OwnTemplates::tell_launcher() {
  ++launchers_;
  for (auto& [id, own] : all_) tell(own);
}

void OwnTemplates::tell(Own& own) {
  const std::uint64_t question = ++questions_;
  own.asked = question;
  own.answered = false;
  const std::weak_ptr<void> held = hold_();
  launcher_.define(own.definition,
                   [this, held, id = own.definition.id, question](const Result<>& done) {
                     if (!held.expired()) answered(id, question, done);
                   });
}

void OwnTemplates::answered(const std::string& id, std::uint64_t question, const Result<>& done) {
  const auto at = all_.find(id);
  // Asked again since then, or forgotten.
  if (at == all_.end() || at->second.asked != question) return;
  at->second.answered = true;
  at->second.refusal.reset();
  // One that is gone has not said no; the next one is asked.
  if (done || !launcher_.up()) return;
  at->second.refusal = done.error();
  log::warn("the launcher does not take a template",
            {{"template", id}, {"error", done.error().message()}});
}

void OwnTemplates::on_template(const TemplateStatus& status) {
  for (auto& [id, own] : all_) {
    if (own.refusal && own.definition.from == status.description.name) {
      own.refusal.reset();
      tell(own);
    }
  }
}

Task<> OwnTemplates::define(TemplateDefinition definition) {
  const std::shared_ptr<void> held = hold_();
  if (!launcher_.up()) co_return fail(Errc::kUnavailable, "the launcher is not there");
  const std::uint64_t launcher = launchers_;
  const auto answer = std::make_shared<Later<void>>(io_);
  launcher_.define(definition, [answer](Result<> done) { answer->set(std::move(done)); });
  const Clock::time_point deadline = Clock::now() + patience_;
  Result<> done = co_await Later<void>::wait(answer, deadline);
  const std::string id = definition.id;
  if (!done) {
    // Perhaps it has taken it all the same.
    if (done.error().code() == Errc::kUnavailable) forget(id);
    co_return done;
  }
  Own own{.definition = std::move(definition), .asked = ++questions_, .answered = true};
  const auto at = all_.insert_or_assign(id, std::move(own)).first;
  if (launcher != launchers_) tell(at->second);  // another one is there by now
  launcher_.prepare(id);
  co_return Result<>();
}

void OwnTemplates::forget(const std::string& id) {
  const std::string copy = id;  // it may be in what goes
  all_.erase(copy);
  if (!launcher_.up()) return;
  launcher_.forget_template(copy, [copy](const Result<>& done) {
    if (!done) log::debug("a template is not forgotten", {{"error", done.error().message()}});
  });
}

const TemplateStatus* OwnTemplates::find(std::string_view id) const {
  return all_.contains(id) ? pools_.find_template(id) : nullptr;
}

bool OwnTemplates::settled() const {
  return std::all_of(all_.begin(), all_.end(), [](const auto& one) { return one.second.answered; });
}

std::optional<Error> OwnTemplates::refusal_of(std::string_view id) const {
  const auto at = all_.find(id);
  return at == all_.end() ? std::nullopt : at->second.refusal;
}

}  // namespace glovebox::node
