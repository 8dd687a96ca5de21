// The templates of projects: lists them, and resolves a template name for a project. The store
// keeps them. The launcher knows each by its id, which no request can name, so no project can reach
// the template of another one.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/task.h"
#include "node/runs/run_service.h"
#include "node/templates/template_service.h"
#include "store/store.h"

namespace glovebox::templates {

// A name that no project may give to a template of its own, and why: "it is ...".
struct ReservedName {
  std::string name;
  std::string reason;
};

class ProjectTemplates {
 public:
  static constexpr std::size_t kMostOfAProject = 16;
  // Sandboxes that wait without demand, of all its templates together.
  static constexpr std::uint32_t kMostWaitingOfAProject = 16;
  // In any 60 seconds: each costs the launcher work and an interpreter start.
  static constexpr std::size_t kMostInAMinute = 30;
  using TimePoint = std::chrono::steady_clock::time_point;

  // All but `reserved` are borrowed and outlive this.
  ProjectTemplates(node::RunService& node, node::TemplateService& service, store::Store& store,
                   std::vector<ReservedName> reserved)
      : node_(node), service_(service), store_(store), reserved_(std::move(reserved)) {}

  // Loads the stored templates. Call it once, before a launcher is attached. Blocks on the store.
  // Templates with packages or of an image are not defined here: preparing these defines them.
  Result<> load();

  // `wanted` lacks only the id and the time. kConflict: the name is taken or reserved;
  // kResourceExhausted: the project has too many, or made too many in a minute; else as
  // TemplateService::define's. `define`, if set, replaces that call and may fill in the layer; its
  // errors are returned as they are.
  using Define = std::function<Task<>(store::TemplateRecord&)>;
  Task<store::TemplateRecord> create(store::TemplateRecord wanted, Define define = {});
  // How long until the project may create another one; zero: at once.
  std::chrono::seconds wait_of(const std::string& project, TimePoint now) const;
  // Its sandboxes keep running. kNotFound.
  Task<> remove(std::string project, std::string name);

  // Records another layer for its packages, because the old one is gone. kNotFound.
  Task<> set_layer(std::string id, std::string layer);

  // Null: not found. Valid until the caller awaits something.
  const store::TemplateRecord* find(const std::string& project, const std::string& name) const;
  const store::TemplateRecord* find_id(std::string_view id) const;
  // A template of this snapshot; or null.
  const store::TemplateRecord* of_snapshot(const std::string& id) const;
  // kConflict: a template of the same project uses this snapshot. Templates that the caller cannot
  // see are ignored.
  Result<> check_snapshot_unused(const std::string& project, const std::string& snapshot) const;
  // A template that was made with this layer; or null.
  const store::TemplateRecord* of_layer(const std::string& layer) const;
  // A template that is made of this image; or null.
  const store::TemplateRecord* of_image(const std::string& image) const;
  // The templates of one project ("*": all), sorted by name.
  std::vector<store::TemplateRecord> list(const std::string& project) const;
  // For display: under its own name, with an error if the launcher does not have it.
  TemplateStatus status_of(const store::TemplateRecord& made) const;
  // The node's status, under its id; null: the launcher has not reported it.
  const TemplateStatus* known_status_of(const store::TemplateRecord& made) const {
    return service_.find(made.definition.id);
  }
  // Whether the launcher has answered for all of them.
  bool settled() const { return service_.settled(); }
  std::optional<Error> refusal_of(std::string_view id) const { return service_.refusal_of(id); }

 private:
  using Key = std::pair<std::string, std::string>;  // project and name
  TemplateStatus status_of_snapshot(const store::TemplateRecord& made) const;
  Result<> check_new(const store::TemplateRecord& wanted) const;
  Result<> count(const std::string& project, TimePoint now);

  node::RunService& node_;
  node::TemplateService& service_;
  store::Store& store_;
  const std::vector<ReservedName> reserved_;
  std::map<Key, store::TemplateRecord> all_;
  std::map<std::string, Key, std::less<>> by_id_;
  std::map<Key, std::uint32_t> being_made_;               // and how many sandboxes will wait
  std::map<std::string, std::deque<TimePoint>> made_at_;  // by project, in the last minute
};

// Resolves a template name for a project: its own template, else the administrator's. The name in
// the description is the node's. Valid until the caller awaits something. kNotFound: no such
// template; kInvalidArgument: it is a snapshot's template; kUnavailable: none is known yet, because
// the launcher has just started. `own_templates` may be null: only the administrator's are
// searched.
Result<const TemplateStatus*> choose_template(const node::RunService& node,
                                              const ProjectTemplates* own_templates,
                                              const std::string& project, const std::string& name);

}  // namespace glovebox::templates
