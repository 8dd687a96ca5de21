// What the launcher's loop does with templates: tells servers of them, has their runtimes started,
// takes definitions and forgets them.
#include "base/log.h"
#include "launcher/server/server_loop.h"
#include "model/template_rules.h"

namespace glovebox::launcher {

void Server::become_server(Client& client) {
  client.caller.is_server = true;
  for (const std::string& name : maker_.jails().broods().names()) {
    if (maker_.may_use(name, &client)) client.news.insert(name);
  }
  tell_news(client);
}

void Server::tell_of_templates() {
  for (const std::string& name : maker_.jails().broods().take_changes()) {
    for (Client& client : clients_) {
      if (client.caller.is_server && maker_.may_use(name, &client)) client.news.insert(name);
    }
  }
  for (Client& client : clients_) tell_news(client);
}

// As much as it takes; what there is when it takes it.
void Server::tell_news(Client& client) {
  while (!client.gone && !client.news.empty() && has_room(client)) {
    const std::string name = std::move(client.news.extract(client.news.begin()).value());
    auto status = maker_.jails().broods().status(name);
    if (status) say(client, wire::TemplateChanged{std::move(*status)});
  }
}

void Server::prepare(Client& client, const std::string& name) {
  // How it goes is told with the template's status.
  const auto begun = maker_.may_use(name, &client)
                         ? maker_.prepare_template(name)
                         : Result<>(fail(Errc::kNotFound, "it is another server's"));
  if (!begun) log::warn("a template is not prepared", {{"error", begun.error().message()}});
}

void Server::define(Client& client, const wire::DefineTemplate& request) {
  if (!client.caller.is_server) {
    return refuse(client, request.seq, Error(Errc::kPolicy, "only servers define templates"));
  }
  if (auto defined = maker_.define_template(request.definition, &client); !defined) {
    return refuse(client, request.seq, defined.error());
  }
  // Before the answer: whoever reads that knows it.
  if (auto made = maker_.jails().broods().take_change(request.definition.id)) {
    say(client, wire::TemplateChanged{std::move(*made)});
  }
  say(client, wire::Done{request.seq});
}

void Server::forget(Client& client, const wire::ForgetTemplate& request) {
  if (auto forgotten = maker_.forget_template(request.id, &client); !forgotten) {
    return refuse(client, request.seq, forgotten.error());
  }
  // It is nobody's any more. Whose it was hears of it; the others never did.
  client.news.erase(request.id);
  if (auto gone = maker_.jails().broods().take_change(request.id)) {
    say(client, wire::TemplateChanged{std::move(*gone)});
  }
  say(client, wire::Done{request.seq});
}

void Server::tidy_templates() {
  std::set<std::string> in_use;
  for (const auto& [id, owned] : sandboxes_) {
    if (is_own_template_id(owned.template_name)) in_use.insert(owned.template_name);
  }
  for (const auto& [ticket, expected] : expected_) in_use.insert(expected.template_name);
  maker_.tidy_templates(in_use);
}

}  // namespace glovebox::launcher
