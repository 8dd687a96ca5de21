#include "node/testing/fake_launcher.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <utility>

#include "wire/guest/job.h"

namespace glovebox::node {
namespace {

using Descriptor = boost::asio::posix::stream_descriptor;

}  // namespace

struct FakeLauncher::Link {
  Link(boost::asio::io_context& io, UniqueFd fd) : descriptor(io, fd.release()) {}
  Descriptor descriptor;
  bool closed = false;
};

struct FakeLauncher::Agent {
  Agent(boost::asio::io_context& io, UniqueFd fd, SandboxId name)
      : descriptor(io, fd.release()), id(std::move(name)) {}
  Descriptor descriptor;
  SandboxId id;
  bool waits = false;
  bool closed = false;
  bool started = false;
  bool listens = false;
  bool runtime_stays = false;
  std::string job;
  std::string put_path;
  std::vector<UniqueFd> kept;  // the guest's ends of a program that hangs

  void say(const wire::AgentFrame& frame, std::vector<int> fds = {}) {
    (void)send_message(descriptor.native_handle(), wire::encode(frame), fds);
  }
};

struct FakeLauncher::SharedRuntime {
  SharedRuntime(boost::asio::io_context& io, UniqueFd fd) : in(io, fd.release()) {}
  Descriptor in;
  std::vector<UniqueFd> out;  // stdout, stderr, results
};

FakeLauncher::~FakeLauncher() { die(); }

UniqueFd FakeLauncher::connect() {
  die();
  return connect_again();
}

UniqueFd FakeLauncher::connect_again() {
  close_runs();
  defined.clear();
  auto pair = seqpacket_pair().value();
  ::fcntl(pair.theirs.get(), F_SETFL, O_NONBLOCK);
  link_ = std::make_shared<Link>(io_, std::move(pair.theirs));
  wait();
  return std::move(pair.ours);
}

void FakeLauncher::die() {
  close_runs();
  for (auto& [id, session] : sessions_) session.agent->close();
  sessions_.clear();
  alive.clear();
}

void FakeLauncher::close_runs() {
  if (!link_) return;
  link_->closed = true;
  link_->descriptor.close();
  link_.reset();
  held_.clear();
  stuck_.clear();
  for (auto& [id, agent] : agents_) {
    close(*agent);
    alive.erase(id);
  }
  agents_.clear();
}

void FakeLauncher::close(Agent& agent) {
  agent.closed = true;
  agent.kept.clear();
  boost::system::error_code ignored;
  agent.descriptor.close(ignored);
}

void FakeLauncher::tell(const TemplateStatus& status) { say(wire::TemplateChanged{status}); }

void FakeLauncher::say_garbage() {
  const std::byte bytes[] = {std::byte{0xff}, std::byte{1}, std::byte{2}};
  (void)send_message(link_->descriptor.native_handle(), bytes);
}

void FakeLauncher::end(const std::string& id, EndReason reason) {
  if (const auto session = sessions_.find(id); session != sessions_.end()) {
    wire::SandboxEnded ended{session->second.id, reason, {}};
    session->second.agent->close();
    sessions_.erase(session);
    alive.erase(id);
    return say(ended);
  }
  const auto agent = agents_.find(id);
  if (agent == agents_.end()) return;
  const SandboxId its_id = agent->second->id;
  close(*agent->second);
  agents_.erase(agent);
  alive.erase(id);
  wire::SandboxEnded ended{its_id, reason, {}};
  ended.usage.cpu = std::chrono::microseconds(700);
  say(ended);
}

int FakeLauncher::guest_end(const std::string& id, std::size_t which) const {
  const int fd = agents_.at(id)->kept.at(which).get();
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

void FakeLauncher::say(const wire::LauncherReply& reply, int fd) {
  if (!link_) return;
  const std::span<const int> fds(&fd, fd >= 0 ? 1 : 0);
  (void)send_message(link_->descriptor.native_handle(), wire::encode(reply), fds);
}

void FakeLauncher::wait() {
  link_->descriptor.async_wait(Descriptor::wait_read,
                               [this, link = link_](const boost::system::error_code& error) {
                                 if (error || link->closed) return;
                                 on_message();
                                 if (!link->closed) wait();
                               });
}

void FakeLauncher::on_message() {
  auto received = receive_message(link_->descriptor.native_handle(), wire::kMaxLauncherMessage, 17);
  if (!received && received.error().sys_errno() == EAGAIN) return;
  if (!received || received->bytes.empty()) return close_runs();  // the server is gone
  const wire::LauncherRequest request = wire::decode_launcher_request(received->bytes).value();
  if (const auto* making = std::get_if<wire::CreateSandbox>(&request)) {
    create({*making, std::move(received->fds)});
  } else if (const auto* take = std::get_if<wire::TakeSandbox>(&request)) {
    taken.push_back(take->id.str());
    if (take->network_up) brought_up.push_back(take->id.str());
    const auto agent = agents_.find(take->id.str());
    if (agent == agents_.end()) return;
    agent->second->waits = false;
    if (!agent->second->listens) wait_agent(agent->second);
  } else if (const auto* destroy = std::get_if<wire::DestroySandbox>(&request)) {
    ++destroyed;
    if (!agents_.contains(destroy->id.str()) && !sessions_.contains(destroy->id.str())) {
      return say(wire::SandboxRefused{0, Errc::kNotFound, 0, "there is no such sandbox"});
    }
    end(destroy->id.str(), EndReason::kDestroyed);
  } else if (const auto* recycling = std::get_if<wire::RecycleSandbox>(&request)) {
    if (recycling->keeps_runtime) return keep(*recycling);
    recycle(*recycling, std::move(received->fds.at(0)));
  } else if (std::holds_alternative<wire::PrepareTemplate>(request)) {
    ++prepared;
  } else if (const auto* define = std::get_if<wire::DefineTemplate>(&request)) {
    if (refuses_definitions) {
      wire::SandboxRefused refused = *refuses_definitions;
      refused.seq = define->seq;
      return say(refused);
    }
    defined[define->definition.id] = define->definition;
    TemplateStatus status;
    status.description.name = define->definition.id;
    status.generation = generation;
    say(wire::TemplateChanged{status});
    say(wire::Done{define->seq});
  } else if (const auto* forget = std::get_if<wire::ForgetTemplate>(&request)) {
    const bool was_there = defined.erase(forget->id) > 0;
    TemplateStatus status;
    status.description.name = forget->id;
    status.state = RuntimeState::kRemoved;
    if (was_there) say(wire::TemplateChanged{status});
    if (was_there) return say(wire::Done{forget->seq});
    say(wire::SandboxRefused{forget->seq, Errc::kNotFound, 0, "no such template"});
  } else if (const auto* listing = std::get_if<wire::ListSandboxes>(&request)) {
    list(listing->seq);
  } else if (const auto* freezing = std::get_if<wire::FreezeSandbox>(&request)) {
    if (!sessions_.contains(freezing->id.str())) {
      return say(wire::SandboxRefused{freezing->seq, Errc::kNotFound, 0, "no such sandbox"});
    }
    freeze(freezing->id.str(), freezing->frozen);
    say(wire::Done{freezing->seq});
  } else if (const auto* lending = std::get_if<wire::LendNetwork>(&request)) {
    lend(*lending);
  } else if (const auto* measuring = std::get_if<wire::MeasureSandbox>(&request)) {
    say(wire::SandboxMeasured{measuring->seq, 5, 4096, 8192, 3, 100, 1000, oom_kills, 512});
  } else if (const auto* all = std::get_if<wire::MeasureHost>(&request)) {
    if (holds_measures) return;
    wire::HostMeasured measured = host;
    measured.seq = all->seq;
    say(measured);
  } else {
    (void)on_layers(request);
  }
}

bool FakeLauncher::on_layers(const wire::LauncherRequest& request) {
  const auto answer = [this](std::uint32_t seq, bool is_there) {
    wire::SandboxRefused refused{seq, Errc::kNotFound, 0, "there is no such layer"};
    if (refuses_layers) refused = *refuses_layers;
    refused.seq = seq;
    if (refuses_layers || !is_there) return say(refused);
    say(wire::Done{seq});
  };
  if (const auto* keep = std::get_if<wire::KeepLayer>(&request)) {
    if (!refuses_layers) layers[keep->record.id] = keep->record;
    answer(keep->seq, true);
  } else if (const auto* note = std::get_if<wire::NoteLayer>(&request)) {
    const auto at = layers.find(note->id);
    if (at != layers.end()) at->second.note = note->note;
    answer(note->seq, at != layers.end());
  } else if (const auto* drop = std::get_if<wire::DropLayer>(&request)) {
    answer(drop->seq, layers.erase(drop->id) > 0);
  } else if (const auto* listing = std::get_if<wire::ListLayers>(&request)) {
    // As the real one: one list at a time.
    if (held_list_) {
      say(wire::SandboxRefused{listing->seq, Errc::kConflict, 0, "a list is being sent"});
      return true;
    }
    ++lists;
    held_list_ = listing->seq;
    if (!holds_lists) release_list();
  } else {
    return false;
  }
  return true;
}

void FakeLauncher::release_list() {
  const std::uint32_t seq = *std::exchange(held_list_, std::nullopt);
  wire::SandboxRefused refused = refuses_layers.value_or(wire::SandboxRefused{});
  refused.seq = seq;
  if (refuses_layers) return say(refused);
  for (const auto& [id, record] : layers) say(wire::LayerListed{seq, record});
  say(wire::Done{seq});
}

void FakeLauncher::lend(const wire::LendNetwork& request) {
  if (refuses_lending || !alive.contains(request.id.str())) {
    wire::SandboxRefused refused = refuses_lending.value_or(
        wire::SandboxRefused{0, Errc::kNotFound, 0, "there is no such sandbox"});
    refused.seq = request.seq;
    return say(refused);
  }
  ++lent;
  // Their contents do not matter here; they must only arrive.
  const SocketPair pair = seqpacket_pair().value();
  const int fds[] = {pair.ours.get(), pair.theirs.get(), pair.ours.get()};
  (void)send_message(link_->descriptor.native_handle(),
                     wire::encode(wire::LauncherReply(wire::NetworkLent{request.seq})), fds);
}

void FakeLauncher::list(std::uint32_t seq) {
  for (const auto& [id, session] : sessions_) {
    say(wire::SandboxListed{seq, session.id, EngineKind::kJail, session.template_name,
                            session.limits, walls, generation, session.frozen},
        session.server_end.get());
  }
  say(wire::Done{seq});
}

void FakeLauncher::say_as_server(const std::string& id, std::string_view bytes) const {
  if (::write(sessions_.at(id).server_end.get(), bytes.data(), bytes.size()) < 0) std::abort();
}

void FakeLauncher::make_session(Making making) {
  const SandboxId id = SandboxId::make();
  SessionKept kept{id, making.request.template_name, making.request.limits,
                   std::move(making.fds.at(1)),
                   std::make_shared<FakeAgent>(io_, std::move(making.fds.at(0)))};
  kept.agent->silent = silent_agents;
  kept.agent->carrier = carrier_of_agents;
  kept.agent->begin();
  sessions_.emplace(id.str(), std::move(kept));
  alive.insert(id.str());
  say(wire::SandboxCreated{making.request.seq, id, walls, generation,
                           making.request.network != NetworkStage::kNone && can_network});
}

void FakeLauncher::create(Making making) {
  if (making.request.warm && holds_warm) {
    stuck_.push_back(std::move(making));
    return;
  }
  held_.push_back(std::move(making));
  most_creates_at_once = std::max(most_creates_at_once, held_.size());
  if (holds_creates) return;
  for (Making& held : std::exchange(held_, {})) make(std::move(held));
}

// As a new sandbox under the old one's id.
void FakeLauncher::recycle(const wire::RecycleSandbox& request, UniqueFd socket) {
  recycled.push_back(request.hurry);
  const bool was_there = agents_.contains(request.id.str());
  end(request.id.str(), EndReason::kDestroyed);
  if (!was_there || refuses_recycling) {
    wire::SandboxRefused refused = refuses_recycling.value_or(
        wire::SandboxRefused{0, Errc::kNotFound, 0, "there is no such sandbox"});
    refused.seq = request.seq;
    return say(refused);
  }
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  const auto agent = std::make_shared<Agent>(io_, std::move(socket), request.id);
  agent->waits = true;
  agents_.emplace(request.id.str(), agent);
  alive.insert(request.id.str());
  say(wire::SandboxCreated{request.seq, request.id, walls, generation, false});
}

void FakeLauncher::keep(const wire::RecycleSandbox& request) {
  kept_runtimes.push_back(request.id.str());
  const auto agent = agents_.find(request.id.str());
  if (agent == agents_.end() || refuses_recycling) {
    end(request.id.str(), EndReason::kDestroyed);
    wire::SandboxRefused refused = refuses_recycling.value_or(
        wire::SandboxRefused{0, Errc::kNotFound, 0, "there is no such sandbox"});
    refused.seq = request.seq;
    return say(refused);
  }
  say(wire::SandboxEnded{request.id, EndReason::kDestroyed, {}});
  say(wire::SandboxCreated{request.seq, request.id, walls, generation, false});
}

void FakeLauncher::release_creates() {
  held_.splice(held_.begin(), stuck_);
  for (Making& held : std::exchange(held_, {})) make(std::move(held));
}

void FakeLauncher::release_one() {
  if (stuck_.empty()) return;
  Making first = std::move(stuck_.front());
  stuck_.pop_front();
  make(std::move(first));
}

void FakeLauncher::make(Making making) {
  const wire::CreateSandbox& request = making.request;
  if (refuses_once > 0) {
    --refuses_once;
    wire::SandboxRefused refused = refusal_once;
    refused.seq = request.seq;
    return say(refused);
  }
  if (refuses) {
    wire::SandboxRefused refused = *refuses;
    refused.seq = request.seq;
    return say(refused);
  }
  if (request.warm && warm_not_ready) {
    return say(wire::SandboxRefused{request.seq, Errc::kUnavailable, 0, "not ready"});
  }
  if (request.network == NetworkStage::kUp && !can_network) {
    return say(wire::SandboxRefused{request.seq, Errc::kUnsupported, 0, "no networks here"});
  }
  ++created;
  networks.push_back(request.network);
  if (!request.layer.empty()) made_with_layer.emplace_back(request.layer, request.make_layer);
  if (request.warm) ++created_warm;
  if (request.waits) ++created_waiting;
  if (request.reusable) ++created_reusable;
  if (request.hurry) ++created_in_hurry;
  templates.push_back(request.template_name);
  tenants.push_back(request.tenant);
  if (request.session) return make_session(std::move(making));
  const SandboxId id = SandboxId::make();
  UniqueFd socket = std::move(making.fds.at(0));
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  const auto agent = std::make_shared<Agent>(io_, std::move(socket), id);
  agent->waits = request.waits;
  agents_.emplace(id.str(), agent);
  alive.insert(id.str());
  say(wire::SandboxCreated{request.seq, id, walls, generation,
                           request.network != NetworkStage::kNone && can_network});
  if (!request.waits) wait_agent(agent);
}

void FakeLauncher::wait_agent(const std::shared_ptr<Agent>& agent) {
  agent->listens = true;
  agent->descriptor.async_wait(
      Descriptor::wait_read, [this, agent](const boost::system::error_code& error) {
        if (error || agent->closed) return;
        auto received = receive_message(agent->descriptor.native_handle(), wire::kMaxGuestFrame, 0);
        if (received && received->bytes.empty()) return;  // the server let go of it
        if (received) on_frame(agent, wire::decode_client_frame(received->bytes).value());
        if (!agent->closed) wait_agent(agent);
      });
}

void FakeLauncher::on_frame(const std::shared_ptr<Agent>& agent, const wire::ClientFrame& frame) {
  if (const auto* put = std::get_if<wire::PutFile>(&frame)) {
    agent->put_path = put->path.str();
    files_put[agent->put_path].clear();
  } else if (const auto* chunk = std::get_if<wire::FileChunk>(&frame)) {
    files_put[agent->put_path] += chunk->bytes;
  } else if (std::holds_alternative<wire::FileEnd>(frame)) {
    agent->say(wire::FileStored{});
  } else if (const auto* job = std::get_if<wire::JobChunk>(&frame)) {
    agent->job += job->bytes;
  } else if (const auto* job_start = std::get_if<wire::StartJob>(&frame)) {
    agent->runtime_stays = job_start->stays;
    start(agent, true);
  } else if (std::holds_alternative<wire::CheckCall>(frame)) {
    agent->say(wire::CallChecked{left});
  } else if (const auto* program = std::get_if<wire::StartProgram>(&frame)) {
    start(agent, program->runtime);
  } else if (std::holds_alternative<wire::FindFiles>(frame)) {
    wire::FoundFiles found;
    for (const auto& [path, content] : script.files) {
      found.files.push_back({GuestPath::parse(path).value(), content.size()});
    }
    agent->say(found);
  } else if (const auto* get = std::get_if<wire::GetFile>(&frame)) {
    agent->say(wire::FileChunk{script.files.at(get->path.str())});
    agent->say(wire::FileEnd{});
  }
}

void FakeLauncher::start(const std::shared_ptr<Agent>& agent, bool runtime) {
  if (std::exchange(agent->started, true)) reused = true;
  if (runtime) jobs.push_back(wire::decode_job(agent->job).value().code);
  if (script.dies_at_start) return end(agent->id.str(), EndReason::kAgentKilled);
  if (script.start_fails && runtime) return agent->say(wire::StartFailed{EPIPE, "start the job"});
  if (script.garbage) {
    const std::byte bytes[] = {std::byte{9}, std::byte{9}};
    (void)send_message(agent->descriptor.native_handle(), bytes);
    return;
  }
  std::vector<UniqueFd> server, guest;  // stdin, stdout, stderr, results
  for (int i = 0; i < (runtime ? 4 : 3); ++i) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    server.emplace_back(ends[i == 0 ? 1 : 0]);
    guest.emplace_back(ends[i == 0 ? 0 : 1]);
  }
  if (script.bad_fds) server[1].reset(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  std::vector<int> fds;
  for (const UniqueFd& fd : server) fds.push_back(fd.get());
  agent->say(wire::ProgramStarted{2}, fds);
  server.clear();
  if (agent->runtime_stays) {
    ::fcntl(guest[0].get(), F_SETFL, O_NONBLOCK);
    const auto shared = std::make_shared<SharedRuntime>(io_, std::move(guest[0]));
    guest.erase(guest.begin());
    shared->out = std::move(guest);
    return serve_calls(agent, shared);
  }
  // Small scripts: all of it fits the pipes.
  (void)!::write(guest[1].get(), script.out.data(), script.out.size());
  (void)!::write(guest[2].get(), script.err.data(), script.err.size());
  if (runtime) (void)!::write(guest[3].get(), script.results.data(), script.results.size());
  if (script.hangs) {
    agent->kept = std::move(guest);
    return;
  }
  if (script.echo_stdin) {
    // Reads until the server closes it, and writes it back, as the pipes allow.
    struct Echo {
      Descriptor in;
      UniqueFd out;
    };
    ::fcntl(guest[1].get(), F_SETPIPE_SZ, 1 << 20);
    auto echo =
        std::make_shared<Echo>(Echo{Descriptor(io_, guest[0].release()), std::move(guest[1])});
    auto step = std::make_shared<std::function<void()>>();
    *step = [agent, echo, weak = std::weak_ptr(step)] {
      const auto self = weak.lock();
      echo->in.async_wait(Descriptor::wait_read, [agent, echo, self](auto error) {
        if (error) return;
        char buffer[4096];
        const ssize_t got = ::read(echo->in.native_handle(), buffer, sizeof buffer);
        if (got > 0) {
          (void)!::write(echo->out.get(), buffer, static_cast<std::size_t>(got));
          return (*self)();
        }
        echo->out.reset();
        if (!agent->closed) agent->say(wire::ProgramExited{0, 0, 500, 4096});
      });
    };
    return (*step)();
  }
  guest.clear();
  if (script.lingers) return;
  agent->say(wire::ProgramExited{script.code, 0, 500, 4096});
}

// Each piece that comes is a record: they are small here.
void FakeLauncher::serve_calls(const std::shared_ptr<Agent>& agent,
                               const std::shared_ptr<SharedRuntime>& runtime) {
  runtime->in.async_wait(Descriptor::wait_read, [this, agent,
                                                 runtime](const boost::system::error_code& error) {
    if (error || agent->closed || script.hangs) return;
    char buffer[4096];
    const ssize_t got = ::read(runtime->in.native_handle(), buffer, sizeof buffer);
    if (got <= 0) return;
    shared_calls.emplace_back(buffer, static_cast<std::size_t>(got));
    const std::string last = "{\"type\":\"exit\",\"code\":" + std::to_string(script.code) + "}\n";
    (void)!::write(runtime->out[0].get(), script.out.data(), script.out.size());
    (void)!::write(runtime->out[1].get(), script.err.data(), script.err.size());
    (void)!::write(runtime->out[2].get(), last.data(), last.size());
    serve_calls(agent, runtime);
  });
}

}  // namespace glovebox::node
