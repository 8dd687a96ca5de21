// The server's one socket to the launcher: requests under way in parallel, matched by number;
// answers passed to the callback of their request. Never blocks. When the launcher is lost, every
// pending request fails with kUnavailable, every sandbox is marked as lost, and another launcher
// can be attached. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "node/links/packet_link.h"
#include "node/node_options.h"
#include "node/sandboxes/sandbox.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::node {

class LauncherLink {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_template(const TemplateStatus& status) = 0;
    virtual void on_launcher_gone() = 0;  // after every sandbox was marked as lost
  };
  using Created = std::function<void(Result<wire::SandboxCreated>)>;
  using Listed = std::function<void(wire::SandboxListed, UniqueFd)>;
  using Measured = std::function<void(Result<wire::SandboxMeasured>)>;
  using HostMeasured = std::function<void(Result<wire::HostMeasured>)>;
  using Finished = std::function<void(Result<>)>;
  using Lent = std::function<void(Result<std::vector<UniqueFd>>)>;
  using LayerFound = std::function<void(LayerRecord)>;
  // Messages that wait to be sent; beyond this the launcher counts as lost.
  static constexpr std::size_t kMaxQueued = 4096;

  // All outlive this object.
  LauncherLink(boost::asio::io_context& io, Listener& listener, const NodeOptions& options)
      : io_(io), listener_(listener), options_(options) {}
  ~LauncherLink();
  LauncherLink(const LauncherLink&) = delete;
  LauncherLink& operator=(const LauncherLink&) = delete;

  void attach(UniqueFd socket);
  // Closes the socket; pending requests fail.
  void detach(const std::string& why);
  bool up() const { return link_ != nullptr; }

  // `request.seq` is chosen here. `done` is called later, never from in here. `ends` are the
  // agent's and, of a session, a copy of ours.
  void create(wire::CreateSandbox request, std::vector<UniqueFd> ends, Created done);
  enum class Network : bool { kAsItIs, kUp };
  // For whom it is taken, as the launcher shares the host: see wire::TakeSandbox.
  struct Share {
    std::uint16_t cpu_weight = wire::kFullCpuWeight;
    std::uint64_t tenant = 0;
  };
  void take(const SandboxId& id, const Limits& limits, Network network, Share share);
  void destroy(const SandboxId& id);
  // As create(), for a sandbox whose call is over.
  void recycle(const SandboxId& id, bool hurry, UniqueFd end, Created done);
  // Likewise, but its runtime stays.
  void keep(const SandboxId& id, Created done);
  void prepare(const std::string& template_name);
  // Templates that this server defines. As create(): all answers come later.
  void define(TemplateDefinition definition, Finished done);
  void forget_template(const std::string& id, Finished done);
  // Sessions. As create(): all answers come later.
  void list(Listed each, Finished done);
  void freeze(const SandboxId& id, bool frozen, Finished done);
  void measure(const SandboxId& id, Measured done);
  // What all sandboxes use together. As create(): the answer comes later.
  void measure_host(HostMeasured done);
  // The three descriptors that the gateway needs of a sandbox. As create(): the answer comes later.
  void lend_network(const SandboxId& id, Lent done);
  // Layers that it keeps (model/layer.h). As create(): all answers come later.
  void keep_layer(LayerRecord record, Finished done);
  void note_layer(const std::string& id, std::string note, Finished done);
  void drop_layer(const std::string& id, Finished done);
  void list_layers(LayerFound each, Finished done);

  std::uint64_t losses() const { return losses_; }
  // When it last said something.
  Clock::time_point last_answer() const { return last_answer_; }

 private:
  friend class Sandbox;
  void add(Sandbox& sandbox);
  void remove(Sandbox& sandbox);

  // The callbacks of a pending request; one of these is set, of a list two.
  struct Asked {
    Created created = {};
    Listed listed = {};
    Measured measured = {};
    HostMeasured host_measured = {};
    Finished finished = {};
    Lent lent = {};
    LayerFound layer_found = {};
    void refuse(const Error& error) const;
  };
  // The number of a new request, whose callbacks are `asked`. Zero: there is no launcher, and they
  // will be told so.
  std::uint32_t ask(Asked asked);
  Result<Asked> answered(std::uint32_t seq);
  void send(const wire::LauncherRequest& request, std::vector<UniqueFd> fds = {});
  Result<> on_message(Received received);
  Result<> handle(wire::SandboxCreated& created);
  Result<> handle(wire::SandboxRefused& refused);
  Result<> handle(wire::SandboxEnded& ended);
  Result<> handle(wire::TemplateChanged& changed);
  Result<> handle(wire::SandboxListed& listed);
  Result<> handle(wire::SandboxMeasured& measured);
  Result<> handle(wire::HostMeasured& measured);
  Result<> handle(wire::Done& done);
  Result<> handle(wire::NetworkLent& lent);
  Result<> handle(wire::LayerListed& listed);

  boost::asio::io_context& io_;
  Listener& listener_;
  const NodeOptions& options_;
  std::shared_ptr<PacketLink> link_;
  std::uint32_t next_seq_ = 1;
  std::unordered_map<std::uint32_t, Asked> waiting_;
  std::unordered_map<std::string, Sandbox*> sandboxes_;
  std::optional<Error> refusal_;    // of a take: SandboxEnded follows
  std::vector<UniqueFd> received_;  // came with the reply that is being handled
  std::uint64_t losses_ = 0;
  Clock::time_point last_answer_{};
};

}  // namespace glovebox::node
