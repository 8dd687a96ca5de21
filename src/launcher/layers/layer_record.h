// A kept layer's record on disk: a small text of our own, written whole or not at all. It is read
// as strictly as a stranger's: a disk may have lost half of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/layer.h"

namespace glovebox::launcher {

// Of everything but the id, the last use and whether it is in use, which are not in it.
std::string record_text(const LayerRecord& record);
// Nothing: it is not one of ours, whole and exact.
std::optional<LayerRecord> parse_record(std::string_view text);

// As "record" in an open directory, on the disk when this returns.
Result<> write_record(int dir, const LayerRecord& record);
Result<LayerRecord> read_record(int dir);

}  // namespace glovebox::launcher
