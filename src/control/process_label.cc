#include "control/process_label.h"

#include <boost/json.hpp>

#include "wire/session_frames.h"
#include "wire/strict_json.h"
#include "wire/utf8.h"

namespace glovebox::control {
namespace {

namespace json = boost::json;

// At most so many bytes, and no half character at the end.
std::string cut(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0u) == 0x80u) --most;
  return text.substr(0, most) + "\xe2\x80\xa6";
}

std::string text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return {};
  return std::string(value->get_string().data(), value->get_string().size());
}

std::string written(const ProcessLabel& label, std::size_t most) {
  json::object object{{"cmd", cut(wire::to_utf8(label.cmd), most)},
                      {"user", cut(wire::to_utf8(label.user), wire::kMaxUserName)},
                      {"cwd", cut(wire::to_utf8(label.cwd), most)},
                      {"created_ms", label.created_ms}};
  if (!label.context.empty()) {
    object["context"] = label.context;
    object["language"] = label.language;
  }
  return json::serialize(object);
}

}  // namespace

std::string encode_label(const ProcessLabel& label) {
  // A control character takes six bytes, so the bound is on what was written.
  std::size_t most = 1024;
  std::string text = written(label, most);
  while (text.size() > wire::kMaxLabel) {
    most /= 2;
    text = written(label, most);
  }
  return text;
}

ProcessLabel decode_label(std::string_view text) {
  ProcessLabel label;
  if (text.size() > wire::kMaxLabel) return label;
  const auto value = wire::parse_strict_json(text);
  if (!value || !value->is_object()) return label;
  const json::object& object = value->get_object();
  label.cmd = text_of(object, "cmd");
  label.user = text_of(object, "user");
  label.cwd = text_of(object, "cwd");
  label.context = text_of(object, "context");
  label.language = text_of(object, "language");
  const json::value* created = object.if_contains("created_ms");
  if (created != nullptr && created->is_int64()) label.created_ms = created->get_int64();
  return label;
}

}  // namespace glovebox::control
