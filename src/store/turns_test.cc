// What is asked of the store for a project waits in that project's turn: one that asks more than it
// may is refused, whatever it asks, and another is not.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>

#include "store/testing/store_fixture.h"

namespace glovebox::store {
namespace {

class TurnsOfProjects : public StoreTest {
 protected:
  // Says whether it was refused for want of a place; nothing: it waits.
  using Asking =
      std::function<void(const std::string& project, std::function<void(Errc)> answered)>;

  TurnsOfProjects() {
    options_.max_jobs = 4;  // two of one project
    open();
    for (const char* project : {"hostile", "victim"}) {
      keys_.emplace(project, create_key({.project = project})->record.id);
      sign_in("link of ", SignInKind::kLink, project);
      sign_in("session of ", SignInKind::kSession, project);
    }
    // Holds the store's thread in a callback, which only tests do.
    store_->flush([this](Result<>) {
      busy_.set_value();
      gone_.wait();
    });
    busy_.get_future().wait();
    for (int i = 0; i < 2; ++i) store_->list_runs("hostile", {}, [](const Result<RunPage>&) {});
  }
  ~TurnsOfProjects() override {
    go_.set_value();
    store_.reset();
  }

  // As long as a real one.
  static std::string digest_of(std::string text) {
    text.resize(64, '0');
    return text;
  }
  void sign_in(const std::string& what, SignInKind kind, const std::string& project) {
    const NewSignIn wanted{.digest = digest_of(what + project),
                           .kind = kind,
                           .key = keys_.at(project),
                           .lifetime = std::chrono::hours(1)};
    const auto made = answer_of<SignIn>([&](auto done) { store_->add_sign_in(wanted, done); });
    ASSERT_TRUE(made) << made.error().message();
  }
  template <class T>
  static Callback<T> telling(std::function<void(Errc)> answered) {
    return [answered = std::move(answered)](Result<T> result) {
      if (!result) answered(result.error().code());
    };
  }
  bool is_refused(const Asking& asking, const std::string& project) {
    const auto refused = std::make_shared<std::atomic<bool>>(false);
    asking(project, [refused](Errc code) { *refused = code == Errc::kResourceExhausted; });
    return *refused;
  }
  void expect_in_turn(const char* what, const Asking& asking) {
    EXPECT_TRUE(is_refused(asking, "hostile")) << what;
    EXPECT_FALSE(is_refused(asking, "victim")) << what;
  }

  std::map<std::string, KeyId> keys_;
  std::promise<void> busy_;
  std::promise<void> go_;
  std::shared_future<void> gone_ = go_.get_future().share();
};

TEST_F(TurnsOfProjects, OfRuns) {
  expect_in_turn("get_run", [this](const std::string& project, auto answered) {
    store_->get_run(project, RunId::make(), telling<RunRecord>(answered));
  });
  expect_in_turn("list_runs", [this](const std::string& project, auto answered) {
    store_->list_runs(project, {}, telling<RunPage>(answered));
  });
}

TEST_F(TurnsOfProjects, OfTheBeginOfIdempotentRequests) {
  expect_in_turn("begin", [this](const std::string& project, auto answered) {
    store_->begin_idempotent(
        {.project = project, .key = "k", .route = "POST /", .body_sha256 = "b"},
        telling<IdempotentEntry>(answered));
  });
  expect_in_turn("finish", [this](const std::string& project, auto answered) {
    store_->finish_idempotent(project, "k", 200, "answer", telling<void>(answered));
  });
}

TEST_F(TurnsOfProjects, OfTheEndOfIdempotentRequests) {
  expect_in_turn("forget", [this](const std::string& project, auto answered) {
    store_->forget_idempotent(project, "k", telling<void>(answered));
  });
  expect_in_turn("interrupt", [this](const std::string& project, auto answered) {
    store_->interrupt_idempotent(project, "k", telling<void>(answered));
  });
}

TEST_F(TurnsOfProjects, OfWritingSessions) {
  expect_in_turn("add_session", [this](const std::string& project, auto answered) {
    store_->add_session(session_of(project), telling<std::int64_t>(answered));
  });
  expect_in_turn("save_session", [this](const std::string& project, auto answered) {
    store_->save_session(session_of(project), telling<void>(answered));
  });
}

TEST_F(TurnsOfProjects, OfReadingSessions) {
  expect_in_turn("get_session", [this](const std::string& project, auto answered) {
    store_->get_session(project, SandboxId::make(), telling<SessionRecord>(answered));
  });
  expect_in_turn("list_sessions", [this](const std::string& project, auto answered) {
    store_->list_sessions(project, {}, telling<SessionPage>(answered));
  });
}

TEST_F(TurnsOfProjects, OfSigningInToTheConsole) {
  expect_in_turn("add_sign_in", [this](const std::string& project, auto answered) {
    store_->add_sign_in({.digest = "another of " + project,
                         .key = keys_.at(project),
                         .lifetime = std::chrono::hours(1)},
                        telling<SignIn>(answered));
  });
  expect_in_turn("take_link", [this](const std::string& project, auto answered) {
    store_->take_link(digest_of("link of " + project), telling<Store::SignedIn>(answered));
  });
}

TEST_F(TurnsOfProjects, OfSigningOut) {
  expect_in_turn("end_session", [this](const std::string& project, auto answered) {
    store_->end_session(digest_of("session of " + project), telling<void>(answered));
  });
}

TEST_F(TurnsOfProjects, OfSnapshotsAndTemplates) {
  expect_in_turn("add_snapshot", [this](const std::string& project, auto answered) {
    store_->add_snapshot({.project = project, .name = "s"}, telling<void>(answered));
  });
  expect_in_turn("add_template", [this](const std::string& project, auto answered) {
    store_->add_template({.project = project, .name = "t"}, telling<void>(answered));
  });
}

}  // namespace
}  // namespace glovebox::store
