#include "node/sandboxes/sandbox.h"

#include <fcntl.h>

#include <utility>

#include "base/assert.h"
#include "node/links/launcher_link.h"

namespace glovebox::node {
namespace {

UniqueFd non_blocking(UniqueFd fd) {
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  return fd;
}

}  // namespace

Sandbox::Sandbox(boost::asio::io_context& io, LauncherLink& launcher,
                 const wire::SandboxCreated& created, UniqueFd socket, Charge charge, Make make,
                 std::unique_ptr<ReuseSlot> reuse)
    : launcher_(launcher),
      id_(created.id),
      walls_(created.walls),
      generation_(created.generation),
      has_network_(created.has_network),
      charge_(std::move(charge)),
      // Registered with the reactor now, and not when a run waits for it.
      socket_(io, non_blocking(std::move(socket))),
      make_(make),
      reuse_(std::move(reuse)) {
  launcher_.add(*this);
}

Sandbox::~Sandbox() {
  if (!outlives_) begin_destroy();
  launcher_.remove(*this);
}

void Sandbox::give() {
  GBX_ASSERT(!given_);  // never reused
  given_ = true;
}

void Sandbox::take(const Limits& limits, Network network) {
  GBX_ASSERT(given_);
  if (!make_.waits || ended_ || lost_) return;
  launcher_.take(
      id_, limits,
      network == Network::kUp ? LauncherLink::Network::kUp : LauncherLink::Network::kAsItIs,
      {.cpu_weight = cpu_weight_, .tenant = tenant_});
}

void Sandbox::begin_destroy() {
  if (ended_ || lost_ || std::exchange(destroying_, true)) return;
  launcher_.destroy(id_);
}

Sandbox::HandedOn Sandbox::recycle(bool hurry, UniqueFd end,
                                   std::function<void(Result<wire::SandboxCreated>)> done) {
  GBX_ASSERT(can_be_recycled());
  destroying_ = true;
  launcher_.recycle(id_, hurry, std::move(end), std::move(done));
  return {std::move(charge_), std::move(reuse_)};
}

Sandbox::HandedOn Sandbox::keep(std::function<void(Result<wire::SandboxCreated>)> done) {
  GBX_ASSERT(can_be_recycled());
  destroying_ = true;
  launcher_.keep(id_, std::move(done));
  return {std::move(charge_), std::move(reuse_)};
}

void Sandbox::end(Ended ended) {
  ended_ = std::move(ended);
  if (on_end_) on_end_();
}

void Sandbox::lose() {
  lost_ = true;
  if (on_end_) on_end_();
}

}  // namespace glovebox::node
