// Templates that servers define for their clients: each is derived from a template of the
// administrator and belongs to the server that defined it. Definitions are not trusted: they name a
// base template, modules by dotted names, variables, and layers by id; runtimes and host paths come
// from the base only. Kept in memory: a server defines its templates again after it reconnects.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/layers/layer_store.h"
#include "launcher/policy/policy.h"
#include "model/template.h"

namespace glovebox::launcher {

struct Client;

class TemplateDefinitions {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMaxDefinitions = 256;
  // How long the templates of a server that has gone are kept, so that one that reconnects finds
  // its zygotes, and the sessions that those may join.
  static constexpr std::chrono::seconds kOrphanLife{60};

  // kNotFound: there is no layer of this id.
  using FindLayer = std::function<Result<LayerRef>(const std::string& id)>;
  explicit TemplateDefinitions(FindLayer find_layer = {}) : find_layer_(std::move(find_layer)) {}

  // Stores a definition and returns its template; its layers are held while it is defined. kPolicy:
  // the administrator forbids it; kConflict: the id belongs to another client; kNotFound: its base
  // or a layer does not exist.
  Result<Template> define(const TemplateDefinition& wanted, const Client* owner,
                          const std::vector<Template>& files, const Policy& policy);
  // kNotFound also for another client's.
  Result<> forget(const std::string& id, const Client* owner);
  bool belongs_to(const std::string& id, const Client* owner) const;

  void owner_gone(const Client* owner, Clock::time_point now);
  // Removes those whose server has not come back in time; returns their ids.
  std::vector<std::string> remove_orphans(Clock::time_point now);

  // All templates again, after the administrator's files have changed. Those whose base was removed
  // or does not fit any more are left out.
  std::vector<Template> derive(const std::vector<Template>& files, const Policy& policy) const;

 private:
  struct Defined {
    TemplateDefinition definition;
    const Client* owner = nullptr;  // null: it has gone
    Clock::time_point expires_at{};
    std::vector<LayerRef> layers{};
  };
  Result<std::vector<LayerRef>> hold_layers(const TemplateDefinition& wanted) const;
  FindLayer find_layer_;
  std::map<std::string, Defined> all_;  // by id
};

// The template of a definition: its base with these changes and layers, the last layer on top. Of
// one with an image the last layer is that.
Result<Template> derive_template(const TemplateDefinition& definition,
                                 const std::vector<Template>& files, const Policy& policy,
                                 const std::vector<LayerRef>& layers = {});

}  // namespace glovebox::launcher
