// The sessions of this host: created, adopted from a previous server, paused, measured, ended. They
// belong to the launcher and outlive this object. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "node/networks/networks.h"
#include "node/node_options.h"
#include "node/pools/sandbox_allocator.h"
#include "node/sessions/live_session.h"
#include "node/sessions/session_service.h"

namespace glovebox::node {

class SessionHost final : public SessionService {
 public:
  // All borrowed. keep_alive_with(): what keeps them, and this object, during a call.
  SessionHost(boost::asio::io_context& io, SandboxAllocator& allocator, Networks& networks,
              const NodeOptions& options)
      : io_(io), allocator_(allocator), networks_(networks), options_(options) {}
  ~SessionHost() override { disconnect(); }
  void keep_alive_with(std::function<std::shared_ptr<void>()> hold) { hold_ = std::move(hold); }

  // A launcher was attached: adopt its sessions.
  void adopt();
  // The server stops; the sessions live on.
  void disconnect();

  Task<std::shared_ptr<Session>> create_session(SessionSpec spec,
                                                std::shared_ptr<CancelFlag> cancel) override;
  std::shared_ptr<Session> find_session(const SandboxId& id) const override;
  std::vector<SandboxId> sessions() const override;
  bool adopted() const override { return adopted_; }
  Task<> destroy_session(SandboxId id) override;
  Task<> pause_session(SandboxId id) override;
  Task<> resume_session(SandboxId id) override;
  Task<SessionUsage> measure_session(SandboxId id) override;
  void on_session_ended(std::function<void(const SessionEnded&)> call) override {
    on_ended_ = std::move(call);
  }
  void on_adopted(std::function<void()> call) override { on_adopted_ = std::move(call); }

 private:
  using LivePtr = std::shared_ptr<LiveSession>;
  struct Adoption;

  LivePtr add(std::unique_ptr<Sandbox> sandbox, std::string template_name);
  enum class Shown : bool { kNo, kYes };
  void announce(const LivePtr& session, Shown shown);
  void ended(const SessionEnded& ended);
  Result<LivePtr> find(const SandboxId& id) const;
  void listed(wire::SandboxListed listed, UniqueFd socket, Adoption& adoption);
  boost::asio::awaitable<void> take_over(LivePtr session, std::shared_ptr<Adoption> adoption);
  void one_taken_over(Adoption& adoption);
  Task<> freeze(LivePtr session, bool frozen);

  boost::asio::io_context& io_;
  SandboxAllocator& allocator_;
  Networks& networks_;
  const NodeOptions& options_;
  std::function<std::shared_ptr<void>()> hold_ = [] { return nullptr; };
  struct Known {
    LivePtr session;
    bool announced = false;  // the service's caller knows of it
    // Of a package build: not listed, its end not reported, ended with this server. One that a
    // previous server left is adopted and listed like any session without a record.
    bool hidden = false;
  };
  std::map<SandboxId, Known> known_;
  std::uint64_t adoptions_ = 0;
  bool adopted_ = false;
  bool stopped_ = false;
  std::function<void(const SessionEnded&)> on_ended_;
  std::function<void()> on_adopted_;
};

}  // namespace glovebox::node
