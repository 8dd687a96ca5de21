#include "sessions/processes/process_label.h"

#include <boost/json.hpp>

#include "base/utf8.h"
#include "base/utf8_cut.h"
#include "wire/guest/session_frames.h"
#include "wire/json/strict_json.h"

namespace glovebox::sessions {
namespace {

namespace json = boost::json;

// Cuts to at most this many bytes, without a partial character at the end.
std::string cut_at_character(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  return text.substr(0, utf8_cut(text, most)) + "\xe2\x80\xa6";
}

std::string text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return {};
  return std::string(value->get_string().data(), value->get_string().size());
}

// Keeps only the first ones when there is not enough room for all.
std::size_t most_words(std::size_t most) { return most / 16; }

json::array words(const std::vector<std::string>& texts, std::size_t most) {
  json::array array;
  for (const std::string& text : texts) {
    if (array.size() >= most_words(most)) break;
    array.emplace_back(cut_at_character(to_utf8(text), most));
  }
  return array;
}

json::object variables(const std::vector<std::string>& envs, std::size_t most) {
  json::object object;
  for (const std::string& variable : envs) {
    const std::size_t equals = variable.find('=');
    if (equals > most || object.size() >= most_words(most)) continue;
    object[to_utf8(variable.substr(0, equals))] =
        cut_at_character(to_utf8(variable.substr(equals + 1)), most);
  }
  return object;
}

std::int64_t number_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

std::string written(const ProcessLabel& label, std::size_t most) {
  json::object object{{"cmd", cut_at_character(to_utf8(label.cmd), most)},
                      {"user", cut_at_character(to_utf8(label.user), wire::kMaxUserName)},
                      {"cwd", cut_at_character(to_utf8(label.cwd), most)},
                      {"created_ms", label.created_ms}};
  if (!label.args.empty()) object["args"] = words(label.args, most);
  if (!label.envs.empty()) object["envs"] = variables(label.envs, most);
  if (!label.tag.empty()) object["tag"] = cut_at_character(to_utf8(label.tag), kMaxTag);
  if (label.deadline_ms != 0) object["deadline_ms"] = label.deadline_ms;
  if (!label.context.empty()) {
    object["context"] = label.context;
    object["language"] = label.language;
  }
  return json::serialize(object);
}

}  // namespace

std::string shown_command(const ProcessLabel& label) {
  std::string text = label.cmd;
  for (const std::string& word : label.args) text += " " + word;
  return text;
}

std::string encode_label(const ProcessLabel& label) {
  // A control character is encoded as six bytes, so the limit applies to the encoded text.
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
  label.tag = text_of(object, "tag");
  label.created_ms = number_in(object, "created_ms");
  label.deadline_ms = number_in(object, "deadline_ms");
  const json::value* args = object.if_contains("args");
  if (args != nullptr && args->is_array()) {
    for (const json::value& word : args->get_array()) {
      if (word.is_string()) label.args.emplace_back(word.get_string());
    }
  }
  const json::value* envs = object.if_contains("envs");
  if (envs != nullptr && envs->is_object()) {
    for (const auto& one : envs->get_object()) {
      if (!one.value().is_string()) continue;
      label.envs.push_back(std::string(one.key()) + "=" + std::string(one.value().get_string()));
    }
  }
  return label;
}

}  // namespace glovebox::sessions
