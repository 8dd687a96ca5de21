// Implements LayerService: each call is a request to the attached launcher. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "node/async/notifier.h"
#include "node/layers/layer_service.h"
#include "node/links/launcher_link.h"

namespace glovebox::node {

class Layers final : public LayerService {
 public:
  // More than any host has; a longer list is a protocol error of the launcher.
  static constexpr std::size_t kMostListed = 100'000;

  Layers(boost::asio::io_context& io, LauncherLink& launcher, std::chrono::milliseconds patience)
      : io_(io), launcher_(launcher), patience_(patience), listing_ended_(io) {}
  // What keeps this object during a call.
  void keep_alive_with(std::function<std::shared_ptr<void>()> hold) { hold_ = std::move(hold); }

  Task<> keep_layer(LayerRecord record) override;
  Task<> note_layer(std::string id, std::string note) override;
  Task<> drop_layer(std::string id) override;
  // One at a time: the launcher refuses a second list, and reads a file for each layer of it. After
  // a long list it has time for other work first.
  Task<std::vector<LayerRecord>> list_layers() override;

 private:
  using Clock = std::chrono::steady_clock;
  Task<> begin_listing();
  Result<> check(const std::string& id, const std::string& note) const;

  boost::asio::io_context& io_;
  LauncherLink& launcher_;
  const std::chrono::milliseconds patience_;
  std::function<std::shared_ptr<void>()> hold_ = [] { return nullptr; };
  bool is_listing_ = false;
  Clock::time_point list_from_{};  // not before this
  Notifier listing_ended_;
};

}  // namespace glovebox::node
