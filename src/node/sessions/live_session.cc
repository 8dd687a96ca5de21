#include "node/sessions/live_session.h"

#include <sys/random.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "node/links/launcher_error.h"

namespace glovebox::node {
namespace {

// The launcher reports why a sandbox has ended; if it does not, we end it. The agent reports the
// end of each process.
constexpr std::chrono::milliseconds kEndReport{2000};

std::uint64_t new_epoch() {
  std::uint64_t epoch = 0;
  while (epoch == 0) {
    GBX_ASSERT(::getrandom(&epoch, sizeof epoch, 0) == static_cast<ssize_t>(sizeof epoch));
  }
  return epoch;
}

}  // namespace

LiveSession::LiveSession(boost::asio::io_context& io, const NodeOptions& options,
                         std::unique_ptr<Sandbox> sandbox, std::string template_name)
    : io_(io),
      options_(options),
      id_(sandbox->id()),
      walls_(sandbox->walls()),
      template_name_(std::move(template_name)),
      sandbox_(std::move(sandbox)),
      connection_(std::make_shared<SessionConnection>(
          io, options, static_cast<SessionLink::Listener&>(*this), sandbox_->release_socket())),
      processes_(std::make_shared<SessionProcesses>(connection_)),
      files_(std::make_shared<SessionFiles>(connection_)),
      notifier_(io),
      end_timer_(io) {
  sandbox_->outlive();
  sandbox_->on_end([this] { sandbox_changed(); });
}

LiveSession::~LiveSession() {
  connection_->close();
  if (sandbox_) sandbox_->on_end({});
}

Task<> LiveSession::handshake(Origin origin) {
  const auto self = shared_from_this();
  if (origin == Origin::kAdopted) processes_->skip_used_numbers();
  epoch_ = new_epoch();
  handshake_.emplace();
  const wire::ServerFrame hello = wire::Hello{epoch_, wanted_carrier()};
  connection_->begin(epoch_, origin);
  connection_->send(hello);
  if (sandbox_ && (sandbox_->ended() || sandbox_->lost())) sandbox_changed();
  const Clock::time_point deadline = Clock::now() + options_.agent_wait;
  while (!is_ready() && alive() && Clock::now() < deadline) co_await notifier_.wait(deadline);
  if (!alive()) co_return fail(connection_->over_error());
  if (!is_ready()) co_return fail(Errc::kUnavailable, "the sandbox's agent does not answer");
  co_return Result<>();
}

wire::Carrier LiveSession::wanted_carrier() const {
  const bool frames =
      options_.session_link != GuestLink::kDescriptors || connection_->is_byte_stream();
  return frames ? wire::Carrier::kFrames : wire::Carrier::kDescriptors;
}

Task<> LiveSession::end_processes() {
  const auto self = shared_from_this();
  CO_TRY_OK(co_await files_->end_processes());
  // The answer may overtake the reports.
  const Clock::time_point deadline = Clock::now() + kEndReport;
  for (const ProcessInfo& process : processes_->all()) {
    // One whose output no client reads is reported later.
    if (!process.ended) (void)co_await processes_->wait_exit(process.number, deadline);
  }
  if (!alive()) co_return fail(connection_->over_error());
  co_return Result<>();
}

void LiveSession::destroy(bool was_asked, std::string why) {
  if (ended_ || !sandbox_) return;
  was_asked_ = was_asked_ || was_asked;
  if (why_.empty()) why_ = std::move(why);
  end_requests(was_asked ? "the sandbox was ended" : why_);
  connection_->close();
  sandbox_->begin_destroy();
}

void LiveSession::disconnect(const std::string& why) {
  end_requests(why);
  connection_->close();
  end_timer_.cancel();
  on_ended_ = {};
  if (sandbox_) sandbox_->on_end({});
  sandbox_.reset();
  notifier_.notify_all();
}

void LiveSession::end_requests(Error why) {
  const std::string message = why.message();
  if (!connection_->end(std::move(why))) return;
  processes_->end_all(message);
  files_->end_all(connection_->over_error());
  notifier_.notify_all();
}

// Called by the sandbox, so it must not be destroyed in here.
void LiveSession::sandbox_changed() {
  boost::asio::post(io_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->report_end();
  });
}

void LiveSession::report_end() {
  if (ended_ || !sandbox_) return;
  ended_ = true;
  SessionEnded ended{id_, EndReason::kDestroyed, {}, sandbox_->lost(), was_asked_, why_};
  if (sandbox_->ended()) {
    ended.reason = sandbox_->ended()->reason;
    ended.usage = sandbox_->ended()->usage;
  }
  if (ended.launcher_lost) {
    end_requests(launcher_error("the launcher was lost, and the sandbox with it"));
  } else {
    end_requests("the sandbox has ended");
  }
  connection_->close();
  end_timer_.cancel();
  sandbox_.reset();  // its part of the budget is free before the callback runs
  notifier_.notify_all();
  const Ended call = std::exchange(on_ended_, {});
  if (call) call(ended);
}

void LiveSession::on_link_over(Error why) {
  const auto self = shared_from_this();
  if (why.code() == Errc::kProtocol) {
    log::warn("the agent of a session broke the protocol",
              {{"sandbox", id_.str()}, {"error", why.message()}});
    return destroy(false, "the sandbox's agent broke the protocol: " + why.message());
  }
  end_requests("the sandbox has ended");
  end_timer_.expires_after(kEndReport);
  end_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto there = weak.lock();
    if (!error && there) there->destroy(false, "the sandbox's agent closed its socket");
  });
}

Result<> LiveSession::on_frame(wire::SessionFrame frame, UniqueFd fd) {
  const auto self = shared_from_this();
  if (handshake_) return on_handshake_frame(frame);
  if (SessionProcesses::takes(frame)) return processes_->on_frame(std::move(frame));
  if (SessionFiles::takes(frame)) return files_->on_frame(std::move(frame), std::move(fd));
  return fail(Errc::kProtocol, "unexpected handshake frame");
}

Result<> LiveSession::on_handshake_frame(wire::SessionFrame& frame) {
  if (auto* status = std::get_if<wire::ProcessStatus>(&frame)) {
    if (status->process == 0) return fail(Errc::kProtocol, "a process without a number");
    const wire::ProcessNumber number = status->process;
    handshake_->insert_or_assign(number, std::move(*status));
    if (handshake_->size() <= SessionProcesses::kMaxProcesses) return {};
    return fail(Errc::kProtocol, "too many processes");
  }
  const auto* welcome = std::get_if<wire::Welcome>(&frame);
  if (welcome == nullptr) return {};  // sent to the server before us
  if (welcome->epoch != epoch_) {
    handshake_->clear();  // sent to the server before us
    return {};
  }
  if (wanted_carrier() == wire::Carrier::kFrames && welcome->carrier != wire::Carrier::kFrames) {
    return fail(Errc::kProtocol, "the agent sends descriptors, which we do not take");
  }
  processes_->adopt(*std::exchange(handshake_, std::nullopt));
  connection_->set_ready(welcome->carrier);
  notifier_.notify_all();
  return {};
}

}  // namespace glovebox::node
