// For tests: a launcher and its agents as far as the wire can tell. It speaks the real messages
// over real sockets and runs nothing: an agent does what its script says.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fd_message.h"
#include "base/unique_fd.h"
#include "node/testing/fake_agent.h"
#include "wire/guest/guest_frames.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::node {

// What the guest's program does once it is started.
struct Script {
  std::string out = {};
  std::string err = {};
  std::string results = {};
  std::uint8_t code = 0;
  bool echo_stdin = false;
  bool lingers = false;        // closes its pipes, and its exit is never reported
  bool hangs = false;          // until it is destroyed
  bool start_fails = false;    // of a job: the runtime that waited is broken
  bool dies_at_start = false;  // the agent goes without a word
  bool garbage = false;        // it sends bytes that cannot be parsed
  bool bad_fds = false;        // what it sends as streams are no pipes
  std::map<std::string, std::string> files = {};  // found by any pattern
};

class FakeLauncher {
 public:
  explicit FakeLauncher(boost::asio::io_context& io) : io_(io) {}
  ~FakeLauncher();

  // The server's end. What was there before is gone.
  UniqueFd connect();
  // The same for a server after another: the sessions are still there.
  UniqueFd connect_again();
  void cut_off() { close_runs(); }  // as of a server that was killed: it says nothing more
  void die();                       // closes the launcher's socket and every sandbox
  void tell(const TemplateStatus& status);
  void say_garbage();
  void end(const std::string& id, EndReason reason);  // a sandbox ends by itself
  // A stream of a program that hangs, at the guest's end, non-blocking: 1 is its stdout, 3 its
  // results.
  int guest_end(const std::string& id, std::size_t which) const;
  FakeAgent& session_agent(const std::string& id) { return *sessions_.at(id).agent; }
  // Bytes to a session's agent over the end that it keeps for servers.
  void say_as_server(const std::string& id, std::string_view bytes) const;
  void freeze(const std::string& id, bool frozen) { sessions_.at(id).frozen = frozen; }
  bool frozen(const std::string& id) const { return sessions_.at(id).frozen; }

  Script script;
  bool holds_creates = false;  // requests are kept until release_creates()
  bool holds_warm = false;     // the same, those with a runtime
  void release_creates();
  void release_one();           // the one that has waited longest
  bool holds_measures = false;  // of the host: they are never answered
  int refuses_once = 0;         // so many makings, with this
  wire::SandboxRefused refusal_once;
  bool warm_not_ready = false;
  std::optional<wire::SandboxRefused> refuses;  // every making
  std::uint32_t generation = 1;
  WallSet walls;
  bool silent_agents = false;                      // of sessions that are made
  std::optional<wire::Carrier> carrier_of_agents;  // the same; FakeAgent::carrier
  std::optional<wire::SandboxRefused> refuses_definitions;
  bool can_network = true;  // as this host's kernel
  std::optional<wire::SandboxRefused> refuses_lending;
  std::optional<wire::SandboxRefused> refuses_layers;  // everything that is asked of them
  std::map<std::string, LayerRecord> layers;           // that it keeps, by id
  bool holds_lists = false;                            // of layers, until release_list()
  void release_list();
  wire::HostMeasured host;      // what all sandboxes use together
  std::uint32_t oom_kills = 1;  // of every session

  // What was seen.
  int created = 0;
  int created_warm = 0;
  int created_waiting = 0;
  int created_in_hurry = 0;
  int destroyed = 0;
  int created_reusable = 0;
  std::vector<bool> recycled;  // of each: whether in a hurry
  std::optional<wire::SandboxRefused> refuses_recycling;
  std::vector<std::string> kept_runtimes;  // ids: the runtime stays
  std::vector<std::string> shared_calls;   // the records that such runtimes were given
  std::string left;                        // what their agents say that a call left
  int prepared = 0;
  std::size_t most_creates_at_once = 0;
  std::map<std::string, TemplateDefinition> defined;  // by id, since it was connected to
  std::vector<std::string> taken;                     // ids, in order
  std::vector<std::string> jobs;                      // the code of each job, in order
  std::vector<std::string> templates;                 // of each making, in order
  std::vector<std::uint64_t> tenants;                 // of each making, in order
  std::set<std::string> alive;
  std::map<std::string, std::string> files_put;
  std::vector<NetworkStage> networks;                         // of each making, in order
  std::vector<std::string> brought_up;                        // ids: taken with their network
  std::vector<std::pair<std::string, bool>> made_with_layer;  // and whether it was a new one
  int lists = 0;                                              // of layers
  int lent = 0;
  bool reused = false;  // a sandbox was asked for a second program

 private:
  struct Agent;
  void on_message();
  struct Making {
    wire::CreateSandbox request;
    std::vector<UniqueFd> fds;
  };
  struct SessionKept {
    SandboxId id;
    std::string template_name;
    Limits limits;
    UniqueFd server_end;
    std::shared_ptr<FakeAgent> agent;
    bool frozen = false;
  };
  void create(Making making);
  void recycle(const wire::RecycleSandbox& request, UniqueFd socket);
  void keep(const wire::RecycleSandbox& request);
  void make(Making making);
  void make_session(Making making);
  void list(std::uint32_t seq);
  void close_runs();
  void say(const wire::LauncherReply& reply, int fd = -1);
  void lend(const wire::LendNetwork& request);
  bool on_layers(const wire::LauncherRequest& request);  // false: it is about something else
  void wait();
  void wait_agent(const std::shared_ptr<Agent>& agent);
  void on_frame(const std::shared_ptr<Agent>& agent, const wire::ClientFrame& frame);
  void start(const std::shared_ptr<Agent>& agent, bool runtime);
  struct SharedRuntime;
  void serve_calls(const std::shared_ptr<Agent>& agent,
                   const std::shared_ptr<SharedRuntime>& runtime);
  void close(Agent& agent);

  std::optional<std::uint32_t> held_list_;
  struct Link;
  boost::asio::io_context& io_;
  std::shared_ptr<Link> link_;
  std::list<Making> held_, stuck_;
  std::map<std::string, SessionKept> sessions_;
  std::map<std::string, std::shared_ptr<Agent>> agents_;
};

}  // namespace glovebox::node
