// A fake host whose sandboxes have files in memory and scripts that the test defines.
// An "archive" of a tree is its names and contents, one after the other.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "node/layers/layer_service.h"
#include "node/networks/network_service.h"
#include "node/sessions/session_service.h"
#include "sessions/testing/fake_session.h"

namespace glovebox::packages {

struct FakeRoom {
  node::SessionSpec spec;
  std::shared_ptr<sessions::FakeSession> session;
  std::map<std::string, std::string> files;  // by path
  std::map<std::string, std::uint32_t> modes;
  std::vector<std::string> scripts;  // run in it so far
  bool is_gone = false;

  void put(std::string path, std::string content) { files[std::move(path)] = std::move(content); }
  bool has(const std::string& path) const { return files.contains(path); }
};

class FakeBuildHost final : public node::SessionService, public node::LayerService {
 public:
  explicit FakeBuildHost(asio::io_context& io) : io_(io) {}

  // What a script does; it has to end the process, unless it hangs.
  std::function<void(FakeRoom&, const std::string& script, sessions::FakeProcess&)> on_script;
  std::function<Result<>(const node::SessionSpec&)> on_create;
  bool holds_creates = false;  // until they are cancelled
  bool is_stuck = false;       // transfers stall
  std::vector<std::shared_ptr<FakeRoom>> rooms;

  std::map<std::string, LayerRecord> layers;
  std::vector<std::string> dropped;
  std::optional<Error> refuses_keeping;

  std::size_t alive() const;

  Task<std::shared_ptr<node::Session>> create_session(
      node::SessionSpec spec, std::shared_ptr<node::CancelFlag> cancel) override;
  std::shared_ptr<node::Session> find_session(const SandboxId& id) const override;
  std::vector<SandboxId> sessions() const override { return {}; }
  bool adopted() const override { return true; }
  Task<> destroy_session(SandboxId id) override;
  Task<> pause_session(SandboxId) override { co_return Result<>(); }
  Task<> resume_session(SandboxId) override { co_return Result<>(); }
  Task<node::SessionUsage> measure_session(SandboxId) override { co_return node::SessionUsage{}; }
  void on_session_ended(std::function<void(const node::SessionEnded&)>) override {}
  void on_adopted(std::function<void()>) override {}

  Task<> keep_layer(LayerRecord record) override;
  Task<> note_layer(std::string id, std::string note) override;
  Task<> drop_layer(std::string id) override;
  Task<std::vector<LayerRecord>> list_layers() override;

 private:
  class Transfer;
  std::shared_ptr<FakeRoom> room_of(const SandboxId& id) const;

  asio::io_context& io_;
};

// The archive that kTarOut of `path` returns.
std::string fake_archive(const FakeRoom& room, const std::string& path);

}  // namespace glovebox::packages
