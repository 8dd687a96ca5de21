// Where the server is and which key to show it, out of flags, the environment and what `serve`
// left in its data directory, in falling precedence.
#pragma once

#include <string>

#include "base/result.h"
#include "client/words.h"

namespace glovebox::client {

// As typed; empty: not said.
struct PlaceWords {
  std::string url;       // --url
  std::string key;       // --key
  std::string data_dir;  // --data-dir
};

// The options every command of this folder has, for take_options and for its --help.
std::vector<Option> place_options(PlaceWords& words);
extern const char* const kPlaceHelp;

// What is outside, so that tests can have their own.
struct PlaceSurroundings {
  std::string url;                          // GLOVEBOX_URL
  std::string key;                          // GLOVEBOX_API_KEY
  std::string data_dir;                     // that of a `serve` started without a word
  std::string program = "glovebox-server";  // what a server's process is called
  static PlaceSurroundings here();
};

struct Place {
  std::string url;
  std::string origin;  // who said so: "--url", "GLOVEBOX_URL", "/var/lib/glovebox/serve.json"
  std::string key;     // empty: none was found
  std::string key_origin;
};

// kUnavailable and what to type when no server is known. The key in <data-dir>/admin.key is shown
// to this machine's own addresses only: whoever says --url must not hand it to a stranger.
Result<Place> find_place(const PlaceWords& words, const PlaceSurroundings& surroundings);

// What is in <data-dir>/admin.key, whether a server runs or not.
Result<std::string> find_admin_key(const PlaceWords& words, const PlaceSurroundings& surroundings);

}  // namespace glovebox::client
