// Limits on the wire, for the two protocols that carry them.
#pragma once

#include "model/limits.h"
#include "wire/byte_codec.h"

namespace glovebox::wire {

void put_limits(ByteWriter& to, const Limits& limits);
// Refuses zeros and numbers so large that they would overflow the receiver's arithmetic.
Limits get_limits(ByteReader& from);

}  // namespace glovebox::wire
