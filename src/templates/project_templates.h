// The templates that projects made for themselves: which there are, and what a project's word for a
// template stands for. The store has them; the launcher is told of each by its id, which no request
// can name, so nobody reaches another project's.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/task.h"
#include "node/runs/run_service.h"
#include "node/templates/template_service.h"
#include "store/store.h"

namespace glovebox::templates {

class ProjectTemplates {
 public:
  static constexpr std::size_t kMostOfAProject = 16;
  // In any 60 seconds: each is work for the launcher, and an interpreter that is started.
  static constexpr std::size_t kMostInAMinute = 30;
  using TimePoint = std::chrono::steady_clock::time_point;

  ProjectTemplates(node::RunService& node, node::TemplateService& service, store::Store& store)
      : node_(node), service_(service), store_(store) {}

  // What there was. Once, before there is a launcher. Blocks on the store. Those with packages are
  // not told to the launcher here: whoever uses one has its set prepared, which defines it.
  Result<> load();

  // `wanted` has all but the id and the time. kConflict: there is one of this name;
  // kResourceExhausted: the project has enough, or made too many in a minute; else as
  // TemplateService::define's. `define`, if there is one, is called in its place, and its errors
  // are given on as they are; it may fill in the layer.
  using Define = std::function<Task<>(store::TemplateRecord&)>;
  Task<store::TemplateRecord> create(store::TemplateRecord wanted, Define define = {});
  // How long until the project may make another one; zero: at once.
  std::chrono::seconds wait_of(const std::string& project, TimePoint now) const;
  // Sandboxes that were made of it live on. kNotFound.
  Task<> remove(std::string project, std::string name);

  // Its packages came to another layer: the one that it was made with is gone. kNotFound.
  Task<> set_layer(std::string id, std::string layer);

  // Null: there is none. Good until the caller awaits something.
  const store::TemplateRecord* find(const std::string& project, const std::string& name) const;
  const store::TemplateRecord* find_id(std::string_view id) const;
  // One that stands for this snapshot.
  const store::TemplateRecord* of_snapshot(const std::string& id) const;
  // kConflict: a template of the same project stands for this snapshot. One that the caller cannot
  // see does not exist for it.
  Result<> check_snapshot_unused(const std::string& project, const std::string& snapshot) const;
  // One that was made with this layer.
  const store::TemplateRecord* of_layer(const std::string& layer) const;
  // Of one project ("*": of all), by name.
  std::vector<store::TemplateRecord> list(const std::string& project) const;
  // As people see it: under its own name, and with a reason when the launcher does not have it.
  TemplateStatus status_of(const store::TemplateRecord& made) const;
  // As the node has it, under its id; null: the launcher has not told of it.
  const TemplateStatus* known_status_of(const store::TemplateRecord& made) const {
    return service_.find(made.definition.id);
  }
  // Whether the launcher has been heard about all of them.
  bool settled() const { return service_.settled(); }
  std::optional<Error> refusal_of(std::string_view id) const { return service_.refusal_of(id); }

 private:
  using Place = std::pair<std::string, std::string>;  // project and name
  TemplateStatus status_of_snapshot(const store::TemplateRecord& made) const;
  Result<> check_new(const store::TemplateRecord& wanted) const;
  Result<> count(const std::string& project, TimePoint now);

  node::RunService& node_;
  node::TemplateService& service_;
  store::Store& store_;
  std::map<Place, store::TemplateRecord> all_;
  std::map<std::string, Place, std::less<>> by_id_;
  std::set<Place> being_made_;
  std::map<std::string, std::deque<TimePoint>> made_at_;  // by project, in the last minute
};

// What a project's word for a template stands for: its own one, else the administrator's. The
// description's name is what the node knows it by. Good until the caller awaits something.
// kNotFound: no such template; kInvalidArgument: it stands for a snapshot; kUnavailable: none is
// known yet, because the launcher has just started. `book` may be null: nobody has made any.
Result<const TemplateStatus*> choose_template(const node::RunService& node,
                                              const ProjectTemplates* book, const std::string& project,
                                              const std::string& name);

}  // namespace glovebox::templates
