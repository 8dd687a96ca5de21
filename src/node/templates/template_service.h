// Templates that this server defines at the launcher, beside those of the administrator: sent to
// the launcher that is attached, and again to every later one. Records, names and projects are kept
// by the caller.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "model/template.h"

namespace glovebox::node {

class TemplateService {
 public:
  virtual ~TemplateService() = default;

  // Templates of a previous server. Called before a launcher is attached.
  virtual void keep(std::vector<TemplateDefinition> definitions) = 0;
  // A new one, and its runtime is started. An error: it is not kept. kNotFound (there is no such
  // base), kInvalidArgument, kPolicy (a ceiling of the launcher's), kResourceExhausted,
  // kUnavailable (there is no launcher).
  virtual Task<> define(TemplateDefinition definition) = 0;
  // How many sandboxes of it wait, before and after it is defined; forget() leaves this alone.
  virtual void set_pools(const std::string& id, TemplatePools pools) = 0;
  // Sandboxes that were created from it live on.
  virtual void forget(const std::string& id) = 0;

  // Its status; null: the launcher has not reported it. RunService lists only the administrator's.
  // Valid until the caller awaits something.
  virtual const TemplateStatus* find(std::string_view id) const = 0;
  // Whether the launcher has answered all definitions.
  virtual bool settled() const = 0;
  // Why the attached launcher refuses a template that it, or another one, accepted before.
  virtual std::optional<Error> refusal_of(std::string_view id) const = 0;
};

}  // namespace glovebox::node
