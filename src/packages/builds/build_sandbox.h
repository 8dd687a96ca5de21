// One sandbox of a build: files in, a script of ours with its output line by line, files out, and
// gone. It is gone with this object at the latest, however whoever has it ends.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "base/task.h"
#include "node/sessions/session_service.h"
#include "packages/builds/build_deadline.h"
#include "packages/builds/build_output.h"

namespace glovebox::packages {

class BuildSandbox {
 public:
  // Borrowed, and there as long as `life` is.
  struct Place {
    asio::io_context& io;
    node::SessionService& service;
    std::weak_ptr<void> life;
  };

  // Errors as SessionService::create_session's, or the watch's verdict.
  static Task<std::shared_ptr<BuildSandbox>> make(Place place, node::SessionSpec spec,
                                                  BuildDeadline& watch);
  BuildSandbox(Place place, std::shared_ptr<node::Session> session)
      : place_(std::move(place)), session_(std::move(session)) {}
  ~BuildSandbox() { abandon(); }
  BuildSandbox(const BuildSandbox&) = delete;
  BuildSandbox& operator=(const BuildSandbox&) = delete;

  const std::shared_ptr<node::Session>& session() const { return session_; }

  // As its user, readable by nobody else.
  Task<> write_file(std::string path, std::string content);
  // At most `most` bytes; kResourceExhausted: it has more.
  Task<std::string> read_file(std::string path, std::uint64_t most);
  // A script of ours (/opt/glovebox/packages), by its name. Returns when it has ended.
  Task<wire::ProcessEnd> run_script(std::string name, BuildOutput& lines);

  // Returns when it is gone.
  Task<> end();
  // Sees to it that it will be. What is under way in it fails.
  void abandon();

 private:
  Place place_;
  std::shared_ptr<node::Session> session_;
  bool is_ended_ = false;
};

}  // namespace glovebox::packages
