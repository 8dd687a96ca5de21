#include "node/node.h"

#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <utility>

#include "model/template_rules.h"
#include "node/layers/layers.h"
#include "node/pools/sandbox_allocator.h"
#include "node/runs/run.h"
#include "node/sessions/session_host.h"
#include "node/templates/dynamic_templates.h"

namespace glovebox::node {
namespace {

constexpr std::chrono::milliseconds kDeadlineCheck{500};
constexpr std::chrono::milliseconds kDrainPoll{10};
// For runs that are ended at the deadline of a drain.
constexpr std::chrono::milliseconds kLastGrace{2000};

}  // namespace

// Held by runs under way, so that it exists until the last of them has ended.
struct Node::State {
  State(boost::asio::io_context& context, NodeOptions wanted)
      : io(context),
        options(std::move(wanted)),
        allocator(context, options),
        networks(context, allocator.launcher(), options),
        dynamic_templates(context, allocator, options.create_wait),
        layers(context, allocator.launcher(), options.create_wait),
        sessions(context, allocator, networks, options),
        clock_timer(context) {}

  boost::asio::io_context& io;
  NodeOptions options;
  ActiveRuns active_runs;
  SandboxAllocator allocator;
  Networks networks;
  DynamicTemplates dynamic_templates;
  Layers layers;
  SessionHost sessions;
  boost::asio::steady_timer clock_timer;
  std::uint32_t runs = 0;
  bool draining = false;
};

namespace {

struct Counted {
  std::uint32_t& count;
  explicit Counted(std::uint32_t& counter) : count(counter) { ++count; }
  ~Counted() { --count; }
};

}  // namespace

Node::Node(boost::asio::io_context& io, NodeOptions options)
    : state_(std::make_shared<State>(io, std::move(options))) {
  // A guest that closes its stdin must not end the server: write() fails with EPIPE instead.
  ::signal(SIGPIPE, SIG_IGN);
  // Both are parts of one state: the callback cannot outlive what it calls.
  state_->allocator.on_template_change(
      [own = &state_->dynamic_templates](const TemplateStatus& status) {
        own->on_template(status);
      });
  state_->dynamic_templates.keep_alive_with(
      [weak = std::weak_ptr<State>(state_)] { return weak.lock(); });
  state_->layers.keep_alive_with([weak = std::weak_ptr<State>(state_)] { return weak.lock(); });
  state_->networks.keep_alive_with([weak = std::weak_ptr<State>(state_)] { return weak.lock(); });
  state_->sessions.keep_alive_with([weak = std::weak_ptr<State>(state_)] { return weak.lock(); });
  check_deadlines(state_);
}

Node::~Node() {
  state_->clock_timer.cancel();
  state_->sessions.disconnect();
  state_->active_runs.stop();
  state_->networks.stop();
  state_->allocator.stop();
}

void Node::check_deadlines(const std::shared_ptr<State>& state) {
  state->clock_timer.expires_after(kDeadlineCheck);
  state->clock_timer.async_wait(
      [weak = std::weak_ptr<State>(state)](const boost::system::error_code& error) {
        const std::shared_ptr<State> there = weak.lock();
        if (error || !there) return;
        there->active_runs.check_deadlines(there->options.now());
        check_deadlines(there);
      });
}

void Node::attach_launcher(UniqueFd socket) {
  state_->allocator.attach_launcher(std::move(socket));
  // Before sandboxes of these templates can be requested.
  state_->dynamic_templates.send_all();
  state_->sessions.adopt();
}

void Node::attach_gateway(UniqueFd socket) { state_->networks.attach_gateway(std::move(socket)); }

void Node::set_session_pools(const std::string& who, std::vector<SessionPoolRequest> wanted) {
  state_->allocator.set_session_pools(who, std::move(wanted));
}

NetworkService& Node::networks() { return state_->networks; }

SessionService& Node::sessions() { return state_->sessions; }

TemplateService& Node::dynamic_templates() { return state_->dynamic_templates; }

LayerService& Node::layers() { return state_->layers; }

Task<RunReport> Node::run(RunJob job, RunSink& sink, std::shared_ptr<CancelFlag> cancel) {
  const std::shared_ptr<State> state = state_;
  if (state->draining) co_return fail(Errc::kUnavailable, "the server is stopping");
  const Counted counted(state->runs);
  RunContext context{state->io, state->allocator, state->networks, state->active_runs,
                     state->options};
  co_return co_await run_job(context, std::move(job), sink, std::move(cancel));
}

std::vector<TemplateStatus> Node::templates() const {
  std::vector<TemplateStatus> all = state_->allocator.templates();
  std::erase_if(all, [](const auto& one) { return is_dynamic_template_id(one.description.name); });
  return all;
}

const TemplateStatus* Node::find_template(std::string_view name) const {
  return is_dynamic_template_id(name) ? nullptr : state_->allocator.find_template(name);
}

NodeFigures Node::figures() const {
  NodeFigures figures = state_->allocator.figures();
  figures.network = state_->networks.totals();
  return figures;
}

boost::asio::awaitable<void> Node::drain(Clock::time_point deadline) {
  const std::shared_ptr<State> state = state_;
  state->draining = true;
  boost::asio::steady_timer timer(state->io);
  while (state->runs > 0 && Clock::now() < deadline) {
    timer.expires_after(kDrainPoll);
    co_await timer.async_wait(boost::asio::use_awaitable);
  }
  state->sessions.disconnect();
  state->networks.stop();
  state->active_runs.stop();
  state->allocator.stop();
  const Clock::time_point last = Clock::now() + kLastGrace;
  while (state->runs > 0 && Clock::now() < last) {
    timer.expires_after(kDrainPoll);
    co_await timer.async_wait(boost::asio::use_awaitable);
  }
}

}  // namespace glovebox::node
