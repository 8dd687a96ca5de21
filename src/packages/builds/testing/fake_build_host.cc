#include "packages/builds/testing/fake_build_host.h"

#include <algorithm>
#include <utility>

namespace glovebox::packages {
namespace {

using Clock = std::chrono::steady_clock;

std::string below(const std::string& path) { return path + "/"; }

}  // namespace

std::string fake_archive(const FakeRoom& room, const std::string& path) {
  std::string archive;
  for (const auto& [name, content] : room.files) {
    if (!name.starts_with(below(path))) continue;
    archive +=
        name.substr(path.size() + 1) + "\n" + std::to_string(content.size()) + "\n" + content;
  }
  return archive;
}

class FakeBuildHost::Transfer final : public node::FileTransfer {
 public:
  Transfer(FakeBuildHost& host, std::shared_ptr<FakeRoom> room, wire::FileRequest request)
      : host_(host), room_(std::move(room)), request_(std::move(request)) {
    if (request_.op == wire::FileOp::kTarOut) bytes_ = fake_archive(*room_, request_.path);
    if (request_.op == wire::FileOp::kRead) bytes_ = room_->files.at(request_.path);
  }

  const std::string& entry() const override { return entry_; }

  asio::awaitable<std::size_t> read_some(char* into, std::size_t size) override {
    co_await go_on();
    if (is_over()) co_return 0;
    const std::size_t some = std::min(size, bytes_.size() - at_);
    std::copy_n(bytes_.data() + at_, some, into);
    at_ += some;
    co_return some;
  }

  asio::awaitable<bool> write(std::string_view bytes) override {
    co_await go_on();
    if (is_over()) co_return false;
    bytes_ += bytes;
    co_return true;
  }

  void commit() override {
    if (is_over()) return;
    if (request_.op == wire::FileOp::kWrite) {
      room_->put(request_.path, bytes_);
      room_->modes[request_.path] = request_.mode.value_or(0644);
    }
    if (request_.op == wire::FileOp::kTarIn) unpack();
  }

  Task<wire::FileDone> done() override {
    if (is_over()) co_return fail(Errc::kUnavailable, "it was closed");
    wire::FileDone done;
    done.bytes = bytes_.size();
    done.entries = entries_;
    co_return done;
  }

  void close() override {
    is_closed_ = true;
    room_->session->wake();
  }

 private:
  bool is_over() const { return is_closed_ || !room_->session->is_alive; }
  asio::awaitable<void> go_on() {
    while (host_.is_stuck && !is_over()) {
      co_await room_->session->change(Clock::time_point::max());
    }
  }
  void unpack() {
    std::string_view rest = bytes_;
    const auto line = [&rest] {
      const std::string text(rest.substr(0, rest.find('\n')));
      rest.remove_prefix(text.size() + 1);
      return text;
    };
    while (!rest.empty()) {
      const std::string name = line();
      const std::size_t size = std::stoul(line());
      room_->put(below(request_.path) + name, std::string(rest.substr(0, size)));
      rest.remove_prefix(size);
      ++entries_;
    }
  }

  FakeBuildHost& host_;
  std::shared_ptr<FakeRoom> room_;
  wire::FileRequest request_;
  std::string entry_;
  std::string bytes_;
  std::size_t at_ = 0;
  std::uint64_t entries_ = 0;
  bool is_closed_ = false;
};

std::size_t FakeBuildHost::alive() const {
  return static_cast<std::size_t>(
      std::count_if(rooms.begin(), rooms.end(), [](const auto& room) { return !room->is_gone; }));
}

std::shared_ptr<FakeRoom> FakeBuildHost::room_of(const SandboxId& id) const {
  for (const auto& room : rooms) {
    if (room->session->id() == id) return room;
  }
  return nullptr;
}

Task<std::shared_ptr<node::Session>> FakeBuildHost::create_session(
    node::SessionSpec spec, std::shared_ptr<node::CancelFlag> cancel) {
  if (on_create) CO_TRY_OK(on_create(spec));
  if (holds_creates) {
    asio::steady_timer timer(io_, Clock::time_point::max());
    cancel->on_cancel([&timer] { timer.cancel(); });
    if (!cancel->cancelled()) co_await timer.async_wait(kAwaitTuple);
    cancel->on_cancel({});
    co_return fail(Errc::kUnavailable, "the request was cancelled");
  }
  const auto room = std::make_shared<FakeRoom>();
  room->spec = std::move(spec);
  room->session = std::make_shared<sessions::FakeSession>(io_);
  const std::weak_ptr<FakeRoom> weak = room;
  room->session->on_start = [this, weak](sessions::FakeProcess& process) -> Result<> {
    const auto here = weak.lock();
    const std::string& path = process.spec.exec.argv.back();
    const std::string script = path.substr(path.rfind('/') + 1);
    here->scripts.push_back(script);
    if (on_script) on_script(*here, script, process);
    return {};
  };
  room->session->on_transfer =
      [this,
       weak](const wire::FileRequest& request) -> Result<std::unique_ptr<node::FileTransfer>> {
    const auto here = weak.lock();
    const bool is_tree = request.op == wire::FileOp::kTarOut;
    if (is_tree && fake_archive(*here, request.path).empty()) {
      return fail(Error(Errc::kNotFound, "No such file or directory", ENOENT));
    }
    if (request.op == wire::FileOp::kRead && !here->has(request.path)) {
      return fail(Error(Errc::kNotFound, "No such file or directory", ENOENT));
    }
    return std::make_unique<Transfer>(*this, here, request);
  };
  rooms.push_back(room);
  co_return room->session;
}

std::shared_ptr<node::Session> FakeBuildHost::find_session(const SandboxId& id) const {
  const auto room = room_of(id);
  return room && !room->is_gone ? room->session : nullptr;
}

Task<> FakeBuildHost::destroy_session(SandboxId id) {
  const auto room = room_of(id);
  if (!room || std::exchange(room->is_gone, true)) co_return fail(Errc::kNotFound, "none here");
  room->session->is_alive = false;
  room->session->wake();
  co_return Result<>();
}

Task<> FakeBuildHost::keep_layer(LayerRecord record) {
  if (refuses_keeping) co_return fail(*refuses_keeping);
  for (const auto& room : rooms) {
    if (room->spec.layer == record.id && !room->is_gone) {
      co_return fail(Errc::kConflict, "its sandbox is there");
    }
  }
  layers[record.id] = std::move(record);
  co_return Result<>();
}

Task<> FakeBuildHost::note_layer(std::string id, std::string note) {
  layers.at(id).note = std::move(note);
  co_return Result<>();
}

Task<> FakeBuildHost::drop_layer(std::string id) {
  layers.erase(id);
  dropped.push_back(std::move(id));
  co_return Result<>();
}

Task<std::vector<LayerRecord>> FakeBuildHost::list_layers() {
  std::vector<LayerRecord> all;
  for (const auto& [id, record] : layers) all.push_back(record);
  co_return all;
}

}  // namespace glovebox::packages
