#include "wire/guest/cell.h"

#include <boost/json.hpp>
#include <span>

#include "wire/byte_codec.h"
#include "wire/json/strict_json.h"

namespace glovebox::wire {
namespace {

constexpr std::uint8_t kHasStdin = 1;
constexpr std::uint8_t kHasEnv = 2;
constexpr std::uint8_t kIsRich = 4;
constexpr std::size_t kMaxVariables = 1024;
constexpr std::size_t kMaxCellName = 4096;

std::string_view as_text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string encode_cell(const Cell& cell) {
  ByteWriter body;
  body.number(cell.number);
  body.number(static_cast<std::uint8_t>((cell.stdin_text ? kHasStdin : 0) |
                                        (cell.env.empty() ? 0 : kHasEnv) |
                                        (cell.rich ? kIsRich : 0)));
  body.text(cell.name);
  body.text(cell.stdin_text.value_or(""));
  body.text(cell.code);
  if (!cell.env.empty()) body.texts(cell.env);
  return with_length(as_text(body.take()));
}

std::string with_length(std::string_view bytes) {
  ByteWriter length;
  length.number(static_cast<std::uint32_t>(bytes.size()));
  std::string text(as_text(length.take()));
  text.append(bytes);
  return text;
}

Result<Cell> decode_cell(std::string_view bytes) {
  ByteReader from(std::as_bytes(std::span(bytes)));
  Cell cell;
  cell.number = from.number<std::uint64_t>();
  const auto flags = from.number<std::uint8_t>();
  cell.name = from.text(kMaxCellName);
  std::string given = from.text(kMaxCellBytes);
  cell.code = from.text(kMaxCellBytes);
  cell.rich = (flags & kIsRich) != 0;
  if ((flags & kHasEnv) != 0) {
    cell.env = from.texts(kMaxVariables, kMaxCellBytes);
    if (cell.env.empty()) from.refuse();
  }
  if (!from.finished() || (flags & ~(kHasStdin | kHasEnv | kIsRich)) != 0) {
    return fail(Errc::kProtocol, "malformed cell");
  }
  if ((flags & kHasStdin) != 0) {
    cell.stdin_text = std::move(given);
  } else if (!given.empty()) {
    return fail(Errc::kProtocol, "malformed cell: unexpected stdin");
  }
  return cell;
}

ContextEvent parse_context_event(std::string_view line) {
  // Results can be long, and these never are: nothing long is parsed twice.
  constexpr std::size_t kMaxWord = 200;
  if (line.size() > kMaxWord || !line.starts_with("{\"type\"")) return {};
  const auto value = parse_strict_json(line);
  if (!value || !value->is_object()) return {};
  const boost::json::object& object = value->get_object();
  const boost::json::value* type = object.if_contains("type");
  if (type == nullptr || !type->is_string()) return {};
  const auto number = [&object](std::string_view name, std::int64_t most) {
    const boost::json::value* found = object.if_contains(name);
    const bool good = found != nullptr && found->is_int64() && found->get_int64() >= 0 &&
                      found->get_int64() <= most;
    return good ? std::optional(found->get_int64()) : std::nullopt;
  };
  if (type->get_string() == "ready") return ContextReady{};
  if (type->get_string() == "end") {
    const auto cell = number("cell", INT64_MAX);
    const auto code = number("exit_code", 255);
    if (!cell || !code) return {};
    return CellEnd{static_cast<std::uint64_t>(*cell), static_cast<int>(*code)};
  }
  if (type->get_string() == "exit") {
    const auto code = number("code", 255);
    if (code) return ContextExit{static_cast<int>(*code)};
  }
  return {};
}

}  // namespace glovebox::wire
