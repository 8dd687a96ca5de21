// The `profile` of a request. Also read alone, for the test vectors that SDKs share.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "base/result.h"
#include "model/profile.h"
#include "wire/json/object_reader.h"

namespace glovebox::wire {

Result<ProfileRequest> read_profile_request(const boost::json::value& value,
                                            const std::string& path);

// The field `image` of an object, the name of an image; empty: it is not there.
Result<std::string> read_image(ObjectReader& fields);

}  // namespace glovebox::wire
