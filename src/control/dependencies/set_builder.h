// From a wish to a layer: packages are fetched, the layer that they come to is found or made, and
// what was asked for is written into its note. Two wishes that come to one layer at the same time
// make it once.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/task.h"
#include "control/dependencies/build_pipeline.h"
#include "control/dependencies/layer_memory.h"
#include "control/dependencies/layer_shelf.h"
#include "control/dependencies/set_events.h"
#include "control/dependencies/set_key.h"
#include "node/bell.h"

namespace glovebox::control {

struct SetWork {
  SetPlace place;
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

class SetBuilder {
 public:
  SetBuilder(asio::io_context& io, LayerMemory& memory, LayerShelf& shelf, BuildPipeline& pipeline,
             EventHub& events, BuilderOptions options)
      : io_(io),
        memory_(memory),
        shelf_(shelf),
        pipeline_(pipeline),
        events_(events),
        options_(std::move(options)) {}

  // The id of a layer that is there. Failures are remembered where that is right, and told.
  Task<std::string> make(SetWork work, BuildStory::Projects projects, OnBuildWord say,
                         std::shared_ptr<node::CancelFlag> cancel);
  const BuilderFigures& figures() const { return figures_; }

 private:
  struct Making {
    explicit Making(asio::io_context& io) : bell(io) {}
    node::Bell bell;
  };
  struct Made {
    std::string id;
    bool reused = false;
  };
  Task<Made> fetch_and_make(SetWork work, OnBuildWord say,
                            std::shared_ptr<node::CancelFlag> cancel);
  Task<std::string> free_id(const SetWork& work, const Fetched& fetched,
                            std::shared_ptr<node::CancelFlag> cancel);
  Task<> note_wish(std::string id, const SetWork& work);
  Task<LayerRecord> keep(SetWork work, Fetched fetched, std::string id, OnBuildWord say,
                         std::shared_ptr<node::CancelFlag> cancel);

  asio::io_context& io_;
  LayerMemory& memory_;
  LayerShelf& shelf_;
  BuildPipeline& pipeline_;
  EventHub& events_;
  BuilderOptions options_;
  BuilderFigures figures_;
  // By layer. Shared with those who make one: they may go after this.
  using MakingAll = std::map<std::string, std::shared_ptr<Making>>;
  std::shared_ptr<MakingAll> making_ = std::make_shared<MakingAll>();
};

}  // namespace glovebox::control
