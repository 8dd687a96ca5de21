// The launcher's loop as an object: what serve_clients() runs. Private to server.cc, which has the
// loop and the clients, server_sandboxes.cc, which has what is done with sandboxes,
// server_templates.cc, and server_layers.cc.
#pragma once

#include <limits>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/server/clients.h"
#include "launcher/sandbox/pending_sandbox_cleanup.h"
#include "launcher/layers/host_package_watch.h"
#include "launcher/layers/disk_tasks.h"
#include "launcher/sandbox/sandbox_maker.h"
#include "launcher/server/sandbox_watch.h"
#include "launcher/server/sessions.h"
#include "wire/launcher_messages.h"

namespace glovebox::launcher {

class Server {
 public:
  Server(SandboxMaker& maker, std::uint32_t max_sandboxes, UniqueFd listener, pid_t owner,
         SandboxWatch watch);

  Result<> add_client(UniqueFd socket);
  Result<> run();

 private:
  void accept_client();
  void on_requests(Client& client, std::size_t most);
  bool on_request(Client& client);
  void make_next();
  bool has_pending() const;
  void create(Client& client, const wire::CreateSandbox& request, std::vector<UniqueFd> fds);
  void take_made();
  void own(Sandbox sandbox, const Expected& expected);
  void refuse(Client& client, std::uint32_t seq, const Error& error);
  void announce(Owned& owned);
  void on_joining(Owned& owned);
  void give_up_joining(Owned& owned, const std::string& why);
  void take(Client& client, const wire::TakeSandbox& request);
  void destroy(Client& client, const SandboxId& id);
  void freeze(Client& client, const wire::FreezeSandbox& request);
  void measure(Client& client, const wire::MeasureSandbox& request);
  void lend(Client& client, const wire::LendNetwork& request);
  void list(Client& client, std::uint32_t seq);
  void go_on_listing(Client& client);
  void become_server(Client& client);
  void prepare(Client& client, const std::string& name);
  void define(Client& client, const wire::DefineTemplate& request);
  void forget(Client& client, const wire::ForgetTemplate& request);
  void tidy_templates();
  // What is answered when something of the host's has ended or is written out.
  struct Keeping {
    Client* client = nullptr;
    std::uint32_t seq = 0;
    LayerRecord record;
    Clock::time_point until{};
    std::optional<Chore> writing_out{};
  };
  struct Dropping {
    Client* client = nullptr;
    std::uint32_t seq = 0;
    std::string id;
    Clock::time_point until{};
  };
  bool is_layer_server(Client& client, std::uint32_t seq);
  void keep_layer(Client& client, wire::KeepLayer request);
  void note_layer(Client& client, wire::NoteLayer request);
  void drop_layer(Client& client, const wire::DropLayer& request);
  void list_layers(Client& client, std::uint32_t seq);
  void go_on_listing_layers(Client& client);
  void go_on_with_layers();
  std::optional<Result<>> go_on_keeping(Keeping& keeping, Clock::time_point now);
  std::optional<Result<>> go_on_dropping(const Dropping& dropping, Clock::time_point now);
  bool is_anything_dying() const;
  void tidy_layers(Clock::time_point now);
  void forget_layers_of(Client& client);
  void add_layer_events(std::vector<pollfd>& events) const;
  std::optional<Clock::time_point> next_layer_look() const;
  void answer(Client& client, std::uint32_t seq, const Result<>& outcome);
  void tell_of_templates();
  void tell_news(Client& client);
  void look_at_packages();
  Owned* find(const Client& client, const SandboxId& id);
  Owned* find_session(Client& client, const SandboxId& id, std::uint32_t seq);
  void drop(Client& client);
  void end_all();
  void hear_of_sandboxes();
  void finish_dead();
  void finish(Owned& owned);
  void say(Client& client, const wire::LauncherReply& reply);
  // Whether an answer of any size can be said to it.
  static bool has_room(const Client& client);
  int wait_ms() const;
  int spare_wait_ms() const;
  // Started for one client and one sandbox: ends with it.
  bool is_private() const { return !listener_; }

  SandboxMaker& maker_;
  HostPackages packages_;
  Clock::time_point look_at_ = Clock::now();
  bool done_ = false;
  std::uint32_t max_sandboxes_;
  UniqueFd listener_;
  pid_t owner_;                // who started us and is not to be outlived; 0: nobody
  std::list<Client> clients_;  // stable addresses
  // Both below point into it: by its id, stable addresses.
  std::unordered_map<std::string, Owned> sandboxes_;
  std::vector<Owned*> runs_;  // all that are not sessions: time passes for them
  std::vector<Owned*> dead_;
  SandboxWatch watch_;
  Sessions sessions_;
  std::map<std::uint64_t, Expected> expected_;  // by ticket
  std::uint64_t next_ticket_ = 0;
  Graves graves_;
  std::list<Keeping> keepings_;
  std::list<Dropping> droppings_;
};

}  // namespace glovebox::launcher
