// What sandboxes are made of, as the administrator defined it: layers, a runtime with modules
// imported in advance, defaults. The launcher reads templates from its own root-owned files and
// reports them to the server. What a server's clients derive from one is a TemplateDefinition: it
// changes a few values and names no path of the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/limits.h"

namespace glovebox {

enum class RuntimeKind : std::uint8_t {
  kNone = 1,  // programs are executed; nothing waits
  kPython,    // a zygote is forked into each sandbox
  kNode,      // a process is started ahead in each sandbox
};

// How many sandboxes wait: `min` even without demand, and never more than `max`.
struct PoolBounds {
  std::uint32_t min = 0;
  std::uint32_t max = 0;
  bool operator==(const PoolBounds&) const = default;
};

// What a project wants to wait of a template of its own.
struct TemplatePools {
  std::string project{};
  std::optional<PoolBounds> runs{};  // none: its base's maximum, and nothing without demand
  PoolBounds sessions{};
  bool operator==(const TemplatePools&) const = default;
};

struct Template {
  std::string name;         // [a-z][a-z0-9-]{0,31}
  std::string description;  // one line
  bool built_in = false;
  RuntimeKind runtime = RuntimeKind::kNone;
  std::string language;             // what a request's `language` says: shell, python, javascript
  std::vector<std::string> layers;  // directories of root's above the host's own, bottom first
  // The root of an image, which stands in place of the host's own files; empty: the host's.
  std::string root{};
  std::vector<std::string> preload;  // modules imported ahead, in this order
  std::vector<std::string> env;      // "NAME=value"; a request's own win
  // Whether its package sets leave the host's own Python packages visible, if a request does not
  // say.
  bool host_packages = false;
  Limits limits;               // the default profile
  std::uint32_t pool_min = 0;  // idle sandboxes even without demand
  std::uint32_t pool_max = 0;  // zero: nothing ever waits
  PoolBounds session_pool{};   // the same for persistent sandboxes
  bool operator==(const Template&) const = default;
};

struct TemplateDefinition {
  std::string id;                    // what the launcher calls it: see template_rules.h
  std::string from;                  // a template of a file, or a built-in one
  std::vector<std::string> preload;  // imported after its base's
  std::vector<std::string> env;      // "NAME=value", over its base's
  Limits limits;  // those that are marked as asked for; the others are its base's
  std::vector<std::string> layers{};  // ids of kept layers (model/layer.h), above its base's
  // The kept layer of an image, in place of all files of the host and of its base's layers. What
  // waits for code, if its base has a runtime, is the image's own interpreter. Not together with
  // `layers`.
  std::string image{};
  bool operator==(const TemplateDefinition&) const = default;
};

// How a template's runtime is doing.
enum class RuntimeState : std::uint8_t {
  kIdle = 1,  // not requested yet, or it needs none
  kStarting,
  kReady,
  kFailed,   // its preload does not work; what it said is beside this
  kRemoved,  // the administrator took the template away
};

struct TemplateStatus {
  Template description;
  RuntimeState state = RuntimeState::kIdle;
  // Grows when sandboxes made before must not be handed out any more: a renewed zygote, a changed
  // template, upgraded packages.
  std::uint32_t generation = 0;
  std::uint32_t zygotes = 0;  // alive
  std::uint64_t forks = 0;    // by all its zygotes so far
  std::string error;          // why it failed, with the traceback
  bool operator==(const TemplateStatus&) const = default;
};

}  // namespace glovebox
