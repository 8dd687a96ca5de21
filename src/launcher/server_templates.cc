// What the launcher's loop does with templates: tells servers of them, has their runtimes started,
// takes definitions and forgets them.
#include <algorithm>

#include "base/log.h"
#include "launcher/server_loop.h"
#include "model/template_rules.h"

namespace glovebox::launcher {

void Server::become_server(Client& client) {
  client.caller.is_server = true;
  for (const TemplateStatus& status : maker_.jails().broods().statuses()) {
    if (maker_.may_use(status.description.name, &client)) {
      say(client, wire::TemplateChanged{status});
    }
  }
}

void Server::tell_of_templates() {
  for (const TemplateStatus& status : maker_.jails().broods().take_changes()) {
    // One that is gone is nobody's any more, and whoever had it has to know.
    const bool is_gone = status.state == RuntimeState::kRemoved;
    for (Client& client : clients_) {
      if (!client.caller.is_server) continue;
      if (is_gone || maker_.may_use(status.description.name, &client)) {
        say(client, wire::TemplateChanged{status});
      }
    }
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
  tell_of_templates();  // before the answer: whoever reads that knows it
  say(client, wire::Done{request.seq});
}

void Server::forget(Client& client, const wire::ForgetTemplate& request) {
  if (auto forgotten = maker_.forget_template(request.id, &client); !forgotten) {
    return refuse(client, request.seq, forgotten.error());
  }
  tell_of_templates();
  tidy_templates();
  say(client, wire::Done{request.seq});
}

void Server::tidy_templates() {
  maker_.tidy_templates([this](const std::string& name) {
    const auto is_its = [&name](const auto& entry) { return entry.second.template_name == name; };
    return std::any_of(sandboxes_.begin(), sandboxes_.end(), is_its) ||
           std::any_of(expected_.begin(), expected_.end(), is_its);
  });
}

}  // namespace glovebox::launcher
