// Templates that this server defines with its launcher, whichever that is: told to the one that is
// there, and again to every one that comes after it. Records, names and projects are control's.
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

  // Those of a server before us. Before there is a launcher.
  virtual void keep(std::vector<TemplateDefinition> definitions) = 0;
  // A new one, and its runtime is started. An error: it is not kept. kNotFound (there is no such
  // base), kInvalidArgument, kPolicy (a ceiling of the launcher's), kResourceExhausted,
  // kUnavailable (there is no launcher).
  virtual Task<> define(TemplateDefinition definition) = 0;
  // Sandboxes that were made of it live on.
  virtual void forget(const std::string& id) = 0;

  // How one is doing; null: the launcher has not told of it. RunService shows only the others. Good
  // until the caller awaits something.
  virtual const TemplateStatus* find(std::string_view id) const = 0;
  // Whether no answer of the launcher's is waited for.
  virtual bool settled() const = 0;
  // Why the launcher that is there now does not take one that it, or another, took before.
  virtual std::optional<Error> refusal_of(std::string_view id) const = 0;
};

}  // namespace glovebox::node
