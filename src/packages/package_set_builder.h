// Builds the layer of a request: fetches the packages, finds or makes the layer they resolve to,
// and records the request in its manifest. Concurrent requests that resolve to one layer make it
// once.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/task.h"
#include "node/async/notifier.h"
#include "packages/builds/build_pipeline.h"
#include "packages/layer_index.h"
#include "packages/layer_maintenance.h"
#include "packages/package_events.h"
#include "packages/package_set_key.h"

namespace glovebox::packages {

struct PackageSetWork {
  PackageSetTarget target;
  BuildRequest request;
  std::string spec;
  std::string asked;  // for people
};

struct BuilderFigures {
  std::uint64_t built = 0;
  std::uint64_t reused = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
};

struct BuilderOptions {
  std::string boot_id;
  std::function<std::int64_t()> now_ms;
};

class PackageSetBuilder {
 public:
  PackageSetBuilder(asio::io_context& io, LayerIndex& index, LayerMaintenance& maintenance,
                    BuildPipeline& pipeline, events::EventHub& events, BuilderOptions options)
      : io_(io),
        index_(index),
        maintenance_(maintenance),
        pipeline_(pipeline),
        events_(events),
        options_(std::move(options)) {}

  // The id of the layer. Publishes failures, and caches those that would repeat.
  Task<std::string> make(PackageSetWork work, BuildEvents::Projects projects,
                         OnBuildProgress report, std::shared_ptr<node::CancelFlag> cancel);
  const BuilderFigures& figures() const { return figures_; }

 private:
  struct Making {
    explicit Making(asio::io_context& io) : notifier(io) {}
    node::Notifier notifier;
  };
  struct Made {
    std::string id;
    bool reused = false;
  };
  Task<Made> fetch_and_make(PackageSetWork work, OnBuildProgress report,
                            std::shared_ptr<node::CancelFlag> cancel);
  Task<std::string> free_id(const PackageSetWork& work, const FetchedPackages& fetched,
                            std::shared_ptr<node::CancelFlag> cancel);
  Task<> record_request(std::string id, const PackageSetWork& work);
  Task<LayerRecord> keep(PackageSetWork work, FetchedPackages fetched, std::string id,
                         OnBuildProgress report, std::shared_ptr<node::CancelFlag> cancel);

  asio::io_context& io_;
  LayerIndex& index_;
  LayerMaintenance& maintenance_;
  BuildPipeline& pipeline_;
  events::EventHub& events_;
  BuilderOptions options_;
  BuilderFigures figures_;
  // By layer id. Shared with running coroutines, which may outlive this object.
  using MakingAll = std::map<std::string, std::shared_ptr<Making>>;
  std::shared_ptr<MakingAll> making_ = std::make_shared<MakingAll>();
};

}  // namespace glovebox::packages
