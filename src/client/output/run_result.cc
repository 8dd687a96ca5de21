#include "client/output/run_result.h"

#include <boost/json.hpp>
#include <cstdio>

#include "base/utf8.h"
#include "model/outcome.h"
#include "model/program_refusal.h"
#include "wire/runs/outcome_json.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

bool is_true(const json::object& result, std::string_view name) {
  const json::value* value = result.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

bool has_error_code(const json::object& result, std::string_view code) {
  const json::value* error = result.if_contains("error");
  const json::object* fields = error != nullptr ? error->if_object() : nullptr;
  const json::value* found = fields != nullptr ? fields->if_contains("code") : nullptr;
  return found != nullptr && found->is_string() && found->get_string() == code;
}

// Times with three decimals, as a local run prints them.
std::string metrics_text(const json::object& metrics) {
  std::string text = "{";
  for (const auto& one : metrics) {
    if (text.size() > 1) text += ',';
    text += json::serialize(one.key()) + ":";
    if (const double* number = one.value().if_double()) {
      char digits[64];
      std::snprintf(digits, sizeof digits, "%.3f", *number);
      text += digits;
    } else {
      text += json::serialize(one.value());
    }
  }
  return text + "}";
}

}  // namespace

int exit_status_of(const json::object& result) {
  const json::value* code = result.if_contains("exit_code");
  if (code == nullptr || !code->is_int64()) return kExitGloveboxFailed;
  return static_cast<int>(code->get_int64()) & 0xff;
}

std::string limit_notes(const json::object& result) {
  std::string text;
  if (is_true(result, "timed_out")) {
    text += has_error_code(result, "cpu_exceeded") ? "glovebox: the CPU time limit was reached\n"
                                                   : "glovebox: the time limit was reached\n";
  } else if (is_true(result, "oom_killed")) {
    text += "glovebox: the memory limit was reached\n";
  }
  if (is_true(result, "truncated")) text += "glovebox: output past the limit was dropped\n";
  return text;
}

std::string run_result_json(const json::object& result) {
  std::string text = "{";
  for (const auto& field : result) {
    if (field.key() == "files" || field.key() == "event") continue;
    if (text.size() > 1) text += ',';
    text += json::serialize(field.key()) + ":";
    const json::object* metrics = field.key() == "metrics" ? field.value().if_object() : nullptr;
    text += metrics != nullptr ? metrics_text(*metrics) : json::serialize(field.value());
  }
  return text + "}\n";
}

std::string run_failure_json(const std::string& code, const Error& error) {
  json::value parsed = json::parse(wire::failure_json(error));
  if (!code.empty()) parsed.as_object().at("error").as_object()["code"] = to_utf8(code);
  if (const auto status = exit_status_of_refusal(code)) parsed.as_object()["exit_code"] = *status;
  return json::serialize(parsed) + "\n";
}

}  // namespace glovebox::client
