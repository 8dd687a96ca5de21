// The record of a kept layer on disk: a small text file, written atomically. It is parsed as
// strictly as untrusted input, because a disk may have lost half of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/layer.h"

namespace glovebox::launcher {

// Everything but the id, the last use and whether it is in use, which are not stored in it.
std::string record_text(const LayerRecord& record);
// Nothing if the text is not exactly a record.
std::optional<LayerRecord> parse_record(std::string_view text);

// The file "record" in an open directory; synced when this returns.
Result<> write_record(int dir, const LayerRecord& record);
Result<LayerRecord> read_record(int dir);

}  // namespace glovebox::launcher
