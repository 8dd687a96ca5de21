#include "http/message.h"

#include <algorithm>

#include "http/ascii.h"
#include "http/status.h"

namespace glovebox::http {

namespace {

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

constexpr std::pair<Method, std::string_view> kMethods[] = {
    {Method::kGet, "GET"},         {Method::kHead, "HEAD"},   {Method::kPost, "POST"},
    {Method::kPut, "PUT"},         {Method::kPatch, "PATCH"}, {Method::kDelete, "DELETE"},
    {Method::kOptions, "OPTIONS"},
};

}  // namespace

std::string_view method_name(Method method) {
  for (const auto& [known, name] : kMethods) {
    if (known == method) return name;
  }
  return "OTHER";
}

Method parse_method(std::string_view name) {
  for (const auto& [method, known] : kMethods) {
    if (known == name) return method;
  }
  return Method::kOther;
}

const std::string* Headers::find(std::string_view name) const {
  for (const Field& field : fields_) {
    if (same_name(field.first, name)) return &field.second;
  }
  return nullptr;
}

std::string_view Headers::get(std::string_view name) const {
  const std::string* value = find(name);
  return value != nullptr ? std::string_view(*value) : std::string_view();
}

std::size_t Headers::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::count_if(fields_.begin(), fields_.end(),
                    [&](const Field& field) { return same_name(field.first, name); }));
}

void Headers::add(std::string name, std::string value) {
  fields_.emplace_back(std::move(name), std::move(value));
}

void Headers::set(std::string_view name, std::string value) {
  remove(name);
  fields_.emplace_back(std::string(name), std::move(value));
}

void Headers::remove(std::string_view name) {
  std::erase_if(fields_, [&](const Field& field) { return same_name(field.first, name); });
}

const std::string* Params::find(std::string_view name) const {
  for (const Field& field : fields_) {
    if (field.first == name) return &field.second;
  }
  return nullptr;
}

std::string_view Params::get(std::string_view name) const {
  const std::string* value = find(name);
  return value != nullptr ? std::string_view(*value) : std::string_view();
}

void Params::add(std::string name, std::string value) {
  fields_.emplace_back(std::move(name), std::move(value));
}

Response Response::json(std::string body, int status) {
  Response response;
  response.status = status;
  response.headers.add("Content-Type", "application/json");
  response.body = std::move(body);
  return response;
}

Response Response::text(std::string body, int status) {
  Response response;
  response.status = status;
  response.headers.add("Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(body);
  return response;
}

Response Response::empty(int status) {
  Response response;
  response.status = status;
  return response;
}

Response Response::refuse(int status, std::string code, std::string message) {
  Response response;
  response.status = status;
  response.problem.emplace();
  response.problem->code = std::move(code);
  response.problem->message = std::move(message);
  return response;
}

Response Response::from_error(const Error& error) {
  const ErrorStatus known = status_of(error.code());
  // What broke inside us is for the log, not for the client.
  std::string message =
      error.code() == Errc::kInternal ? "internal error; see the server's log" : error.message();
  return refuse(known.status, std::string(known.code), std::move(message));
}

Response Response::streamed() {
  Response response;
  response.is_streamed = true;
  return response;
}

}  // namespace glovebox::http
