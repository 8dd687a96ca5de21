#include "launcher/server/template_requests.h"

#include <utility>

#include "base/log.h"

namespace glovebox::launcher {

void TemplateRequests::become_server(Client& client) {
  client.caller.is_server = true;
  maker_.know_all_templates();
  for (const std::string& name : maker_.jails().nurseries().names()) {
    if (maker_.may_use(name, &client)) client.changed_templates.insert(name);
  }
  continue_reporting(client);
}

void TemplateRequests::report_changes() {
  for (const std::string& name : maker_.jails().nurseries().take_changes()) {
    for (Client& client : clients_.all()) {
      if (client.caller.is_server && maker_.may_use(name, &client)) {
        client.changed_templates.insert(name);
      }
    }
  }
  for (Client& client : clients_.all()) continue_reporting(client);
}

// The status is read when it is sent, so a slow reader gets the latest one.
void TemplateRequests::continue_reporting(Client& client) {
  while (!client.gone && !client.changed_templates.empty() && ClientConnections::has_room(client)) {
    auto first = client.changed_templates.extract(client.changed_templates.begin());
    auto status = maker_.jails().nurseries().status(first.value());
    if (status) clients_.send(client, wire::TemplateChanged{std::move(*status)});
  }
}

// Has no reply of its own: the template's status says how it went.
void TemplateRequests::prepare(Client& client, const std::string& name) {
  const auto begun = maker_.may_use(name, &client)
                         ? maker_.prepare_template(name)
                         : Result<>(fail(Errc::kNotFound, "it belongs to another server"));
  if (!begun) {
    log::warn("a template was not prepared",
              {{"template", name}, {"error", begun.error().message()}});
  }
}

void TemplateRequests::define(Client& client, const wire::DefineTemplate& request) {
  if (!client.caller.is_server) {
    return clients_.refuse(client, request.seq,
                           Error(Errc::kPolicy, "only servers may define templates"));
  }
  if (auto defined = maker_.define_template(request.definition, &client); !defined) {
    return clients_.refuse(client, request.seq, defined.error());
  }
  // Before the reply, so that a client that has the reply knows the template.
  if (auto made = maker_.jails().nurseries().take_change(request.definition.id)) {
    clients_.send(client, wire::TemplateChanged{std::move(*made)});
  }
  clients_.send(client, wire::Done{request.seq});
}

void TemplateRequests::forget(Client& client, const wire::ForgetTemplate& request) {
  if (auto forgotten = maker_.forget_template(request.id, &client); !forgotten) {
    return clients_.refuse(client, request.seq, forgotten.error());
  }
  // It has no owner any more, so report_changes() would skip it: its former owner is notified here.
  client.changed_templates.erase(request.id);
  if (auto gone = maker_.jails().nurseries().take_change(request.id)) {
    clients_.send(client, wire::TemplateChanged{std::move(*gone)});
  }
  clients_.send(client, wire::Done{request.seq});
}

}  // namespace glovebox::launcher
