// Templates that servers define for their clients: which there are, whose they are, and what each
// is made of one of the administrator's. Nothing a server says is believed: a definition names one
// of our own templates, modules by their dotted names, variables, and layers that we keep by their
// ids; runtimes and every path of the host's are ours. In memory only: a server defines them again.
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

class Definitions {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMost = 256;
  // For a server that comes back: its zygotes are still there, and sessions that are let in by
  // them.
  static constexpr std::chrono::seconds kOrphanLife{60};

  // kNotFound: there is none of this id.
  using FindLayer = std::function<Result<LayerHeld>(const std::string& id)>;
  explicit Definitions(FindLayer find_layer = {}) : find_layer_(std::move(find_layer)) {}

  // Takes it if a template can be made of it, which is given back; its layers stay for as long as
  // it is defined. kPolicy where the administrator wants none; kConflict when it is another
  // client's; kNotFound when its base or a layer is not there.
  Result<Template> define(const TemplateDefinition& wanted, const Client* owner,
                          const std::vector<Template>& files, const Policy& policy);
  // kNotFound also for another's.
  Result<> forget(const std::string& id, const Client* owner);
  bool is_of(const std::string& id, const Client* owner) const;

  void owner_gone(const Client* owner, Clock::time_point now);
  // Gives up those that nobody has come for; which they were.
  std::vector<std::string> drop_orphans(Clock::time_point now);

  // All of them, when the files have changed. One whose base is gone, or has changed so that it
  // does not fit, is left out.
  std::vector<Template> derive(const std::vector<Template>& files, const Policy& policy) const;

 private:
  struct Defined {
    TemplateDefinition definition;
    const Client* owner = nullptr;  // null: an orphan
    Clock::time_point given_up_at{};
    std::vector<LayerHeld> layers{};
  };
  Result<std::vector<LayerHeld>> hold_layers(const TemplateDefinition& wanted) const;
  FindLayer find_layer_;
  std::map<std::string, Defined> all_;  // by id
};

// One template made of its base and of its layers, the last one on top; or why not.
Result<Template> derive_template(const TemplateDefinition& definition,
                                 const std::vector<Template>& files, const Policy& policy,
                                 const std::vector<LayerHeld>& layers = {});

}  // namespace glovebox::launcher
