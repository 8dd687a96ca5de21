#include "control/set_flow.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

#include "base/log.h"
#include "control/dependency_words.h"
#include "control/session_keeper.h"
#include "control/template_book.h"

namespace glovebox::control {
namespace {

// A client that reads slowly misses lines of the installer's, never the beginning of a phase.
constexpr std::size_t kMaxWaiting = 512;
constexpr std::chrono::seconds kBuildHeartbeat{15};

// Words on their way from the build to the client. Shared: the build may outlive its listener.
struct Words {
  explicit Words(asio::io_context& io) : bell(io) {}

  void add(const BuildWord& word) {
    if (is_over) return;
    if (waiting.size() >= kMaxWaiting) {
      if (!word.text.empty()) return;
      std::erase_if(waiting, [](const BuildWord& one) { return !one.text.empty(); });
      if (waiting.size() >= kMaxWaiting) return;
    }
    waiting.push_back(word);
    bell.cancel();
  }

  std::deque<BuildWord> waiting;
  asio::steady_timer bell;
  std::optional<Result<SetMade>> made;
  bool is_over = false;  // nobody listens any more
};

// The listener may be cut off while it waits for the client: then nothing is to be told.
struct Listening {
  explicit Listening(std::shared_ptr<Words> the_words) : words(std::move(the_words)) {}
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  ~Listening() { words->is_over = true; }
  std::shared_ptr<Words> words;
};

// A template or a snapshot that was made with packages remembers what they came to. If that is
// gone, what they came to now takes its place.
class WhoseSet {
 public:
  explicit WhoseSet(const SetWish& wish)
      : template_id_(wish.definition.id), snapshot_(wish.snapshot), kept_layer_(wish.kept_layer) {}

  asio::awaitable<void> note(App& app, std::string layer) const {
    if (layer == kept_layer_) co_return;
    Result<> noted;
    if (app.templates != nullptr && app.templates->find_id(template_id_) != nullptr) {
      noted = co_await app.templates->set_layer(template_id_, layer);
    }
    if (noted && app.keeper != nullptr && !snapshot_.empty()) {
      noted = co_await app.keeper->shelf().set_layer(snapshot_, layer);
    }
    // Then it is found out again by the next server.
    if (!noted && noted.error().code() != Errc::kNotFound) {
      log::warn("the layer of a template is not noted", {{"error", noted.error().message()}});
    }
  }

 private:
  std::string template_id_;
  std::string snapshot_;
  std::string kept_layer_;
};

}  // namespace

Task<SetMade> prepare_set(App& app, SetWish wish, std::shared_ptr<node::CancelFlag> cancel) {
  if (app.dependencies == nullptr) {
    co_return fail(Errc::kUnsupported, "profile.dependencies: this server installs no packages");
  }
  OnBuildWord silence;
  const WhoseSet whose(wish);
  auto made = co_await app.dependencies->prepare(std::move(wish), std::move(silence), cancel);
  if (made) co_await whose.note(app, made->layer_id);
  co_return made;
}

Task<SetMade> prepare_set_aloud(App& app, SetWish wish, std::shared_ptr<node::CancelFlag> cancel,
                                StreamingSink& sink) {
  if (app.dependencies == nullptr) {
    co_return fail(Errc::kUnsupported, "profile.dependencies: this server installs no packages");
  }
  auto words = std::make_shared<Words>(app.io);
  const Listening listening(words);
  const WhoseSet whose(wish);
  OnBuildWord say = [words](const BuildWord& word) { words->add(word); };
  asio::co_spawn(app.io, app.dependencies->prepare(std::move(wish), std::move(say), cancel),
                 [words](std::exception_ptr thrown, Result<SetMade> made) {
                   words->made = thrown ? Result<SetMade>(fail(Errc::kInternal, "a build failed"))
                                        : std::move(made);
                   words->bell.cancel();
                 });
  bool is_there = true;
  while (!words->made || !words->waiting.empty()) {
    while (!words->waiting.empty()) {
      const BuildWord word = std::move(words->waiting.front());
      words->waiting.pop_front();
      if (!is_there) continue;
      const std::string data = build_word_json(word);
      is_there = co_await sink.send("build", data);
      if (!is_there) cancel->cancel();
    }
    if (words->made) break;
    words->bell.expires_after(kBuildHeartbeat);
    const auto [error] = co_await words->bell.async_wait(kAwaitTuple);
    if (error || !is_there) continue;  // there is something, or nobody to tell
    is_there = co_await sink.keep_alive();
    if (!is_there) cancel->cancel();
  }
  if (*words->made) co_await whose.note(app, (*words->made)->layer_id);
  co_return std::move(*words->made);
}

}  // namespace glovebox::control
