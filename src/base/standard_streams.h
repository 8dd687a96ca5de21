// Makes sure that descriptors 0, 1 and 2 are open, even if the caller closed them.
#pragma once

namespace glovebox {

// First thing in main(): with one of them closed, the next descriptor we open would take its
// number, and what is written to standard error would go into a socket of ours. False: it cannot be
// helped.
bool ensure_standard_streams() noexcept;

}  // namespace glovebox
