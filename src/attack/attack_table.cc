#include "attack/attack_table.h"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>

#include "attack/child_process.h"
#include "attack/json_text.h"

namespace glovebox::attack {
namespace {

namespace json = boost::json;

std::optional<Kind> kind_named(std::string_view name) {
  if (name == "probe") return Kind::kProbe;
  if (name == "bomb") return Kind::kBomb;
  if (name == "neighbour") return Kind::kNeighbour;
  if (name == "survivor") return Kind::kSurvivor;
  if (name == "out") return Kind::kOut;
  if (name == "plant") return Kind::kPlant;
  return std::nullopt;
}

std::vector<std::string> strings_of(const json::object& object, std::string_view key) {
  std::vector<std::string> strings;
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_array()) return strings;
  for (const json::value& item : value->get_array()) {
    if (item.is_string()) strings.emplace_back(item.get_string());
  }
  return strings;
}

Result<AttackRow> row_of(const json::value& value) {
  if (!value.is_object()) {
    return fail(Errc::kProtocol, "a row of the attack table is not an object");
  }
  const json::object& object = value.get_object();
  AttackRow row{.name = json_text(object, "name"),
                .group = json_text(object, "group"),
                .aims_at = json_text(object, "aims_at"),
                .held_by = json_text(object, "held_by"),
                .needs = strings_of(object, "needs"),
                .outcomes = strings_of(object, "outcome"),
                .limits = strings_of(object, "limits")};
  const auto kind = kind_named(json_text(object, "kind"));
  if (row.name.empty() || !kind) {
    return fail(Errc::kProtocol, "a row of the attack table has no name or no kind");
  }
  row.kind = *kind;
  return row;
}

}  // namespace

bool AttackRow::needs_a(std::string_view what) const {
  return std::find(needs.begin(), needs.end(), what) != needs.end();
}

Result<std::vector<AttackRow>> load_table(const std::string& attacks_program) {
  TRY(const CommandResult listed, run_command({.argv = {attacks_program, "list", "--json"}}));
  boost::system::error_code error;
  const json::value table = json::parse(listed.out, error);
  if (listed.exit_code != 0 || error || !table.is_array()) {
    return fail(Errc::kProtocol, attacks_program + " does not list its attacks");
  }
  std::vector<AttackRow> rows;
  for (const json::value& value : table.get_array()) {
    TRY(AttackRow row, row_of(value));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace glovebox::attack
