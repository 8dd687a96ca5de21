// Creates sessions: plans one from a request, checks what the host and the administrator allow,
// lets the node create its sandbox, restores a snapshot if requested, and stores the session.
// Requests with the same agent_id are handled one after the other and get the same sandbox.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/task.h"
#include "sessions/session_lifecycle.h"
#include "sessions/session_plan.h"
#include "snapshots/snapshot_store.h"
#include "store/key_usage.h"
#include "templates/project_templates.h"

namespace glovebox::sessions {

struct SessionOwner {
  std::string project;
  store::KeyId key;
};

struct CreatedSession {
  store::SessionRecord record;
  bool is_new = true;  // false: it existed for this agent_id
};

class SessionCreator {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    asio::io_context& io;
    SessionRegistry& registry;
    SessionLifecycle& lifecycle;
    node::SessionService& service;
    const node::RunService& node;
    const templates::ProjectTemplates& templates;
    snapshots::SnapshotStore& snapshots;
    store::Store& store;
    store::KeyUsage& usage;
  };
  SessionCreator(Dependencies dependencies, const SessionOptions& options)
      : deps_(dependencies), options_(options) {}

  // The resources that a creation needs.
  struct Requirements {
    std::uint64_t bytes = 0;                              // of memory and disk
    std::optional<packages::PackageSetRequest> packages;  // to be prepared before create()
  };
  Result<Requirements> requirements_of(const CreateRequest& request,
                                       const std::string& project) const;

  // What the template or the snapshot of a request is made of; or nothing.
  struct NamedImage {
    std::string id;
    std::string name;
  };
  Result<std::optional<NamedImage>> image_of(const CreateRequest& request,
                                             const std::string& project) const;

  // Errors as SessionService::create_session's. `admission` is released when the session exists;
  // from then on its memory is counted as long as it lives. On cancellation it is destroyed.
  Task<CreatedSession> create(CreateRequest request, SessionOwner owner, store::Admission admission,
                              std::shared_ptr<node::CancelFlag> cancel);

 private:
  using AgentKey = std::pair<std::string, std::string>;  // project and agent_id
  class AgentLock;
  class NameClaim;

  Task<EntryPtr> find_agent(std::string project, std::string agent_id);
  Task<CreatedSession> make(CreateRequest request, SessionOwner owner, store::Admission admission,
                            std::shared_ptr<node::CancelFlag> cancel);
  // kConflict with EEXIST: another living sandbox of the project has the name, or is getting it.
  Result<std::unique_ptr<NameClaim>> claim_name(const std::string& project,
                                                const std::string& name);
  Result<> check_room(const std::string& project, std::uint64_t needed_bytes);
  Task<std::shared_ptr<node::Session>> make_sandbox(node::SessionSpec& spec, bool net_is_default,
                                                    std::shared_ptr<node::CancelFlag> cancel);
  Task<> bring_up(EntryPtr entry, std::shared_ptr<node::Session> session,
                  std::optional<store::SnapshotRecord> snapshot,
                  std::shared_ptr<node::CancelFlag> cancel);
  Result<std::optional<store::SnapshotRecord>> find_snapshot(const CreateRequest& request,
                                                             const std::string& project) const;
  Result<SessionPlan> plan_of(const CreateRequest& request, const std::string& project,
                              const std::optional<store::SnapshotRecord>& snapshot) const;

  const Dependencies deps_;
  const SessionOptions& options_;
  // Serializes creations for one agent_id.
  std::map<AgentKey, std::weak_ptr<node::AsyncFifoLock>> agent_locks_;
  std::set<std::pair<std::string, std::string>> names_being_given_;  // project and name
  std::shared_ptr<char> life_ = std::make_shared<char>();            // expires with this
};

}  // namespace glovebox::sessions
