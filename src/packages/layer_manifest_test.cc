#include "packages/layer_manifest.h"

#include <gtest/gtest.h>

#include "model/layer.h"

namespace glovebox::packages {
namespace {

LayerManifest a_note() {
  LayerManifest note;
  note.manager = "pip";
  note.interpreter = "cpython-3.11";
  note.index = "https://pypi.org/simple";
  note.template_name = "python";
  note.packages = {{"a", "1.0", "a-1.0-py3-none-any.whl", std::string(64, '1')}};
  note.note_asked(std::string(64, 'e'), "a", 1000, "one");
  note.boot_id = "boot";
  note.checked_ms = 2000;
  return note;
}

TEST(LayerManifest, ComesBackAsItWas) {
  const LayerManifest note = a_note();
  auto back = parse_note(note_text(note));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, note);
}

TEST(LayerManifest, LeavesPackagesOutWhenThereAreTooMany) {
  LayerManifest note = a_note();
  for (int i = 0; i < 500; ++i) {
    note.packages.push_back(
        {"package-" + std::to_string(i), "1.2.3", std::string(60, 'f'), std::string(64, '2')});
  }
  const std::string text = note_text(note);
  EXPECT_LE(text.size(), kMaxLayerNote);
  EXPECT_GT(text.size(), kMaxLayerNote - 1000) << "as many as fit";
  auto back = parse_note(text);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_GT(back->packages_left_out, 0u);
  EXPECT_EQ(back->packages.size() + back->packages_left_out, 501u);
  EXPECT_EQ(back->asked, note.asked);
}

TEST(LayerManifest, FitsWhateverAStrangerPutsIntoIt) {
  LayerManifest note = a_note();
  note.index = std::string(5000, '"');
  note.interpreter = std::string(5000, '\xff');
  for (int i = 0; i < 2000; ++i) {
    note.packages.push_back({std::string(300, '\\'), std::string(300, '\x01'),
                             std::string(300, '"'), std::string(300, 'x')});
  }
  for (int i = 0; i < 100; ++i) {
    std::string spec = std::to_string(i);
    spec.resize(64, 'e');
    note.note_asked(spec, std::string(3000, '"'), i, std::string(200, '\x02') + std::to_string(i));
  }
  const std::string text = note_text(note);
  EXPECT_LE(text.size(), kMaxLayerNote);
  auto back = parse_note(text);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_LE(back->asked.size(), LayerManifest::kMostAsked);
}

TEST(LayerManifest, KeepsTheLatestWishesAndProjects) {
  LayerManifest note = a_note();
  for (int i = 0; i < 40; ++i) {
    std::string spec = std::to_string(i);
    spec.resize(64, 'e');
    note.note_asked(spec, "x", i, "p" + std::to_string(i));
  }
  ASSERT_EQ(note.asked.size(), LayerManifest::kMostAsked);
  EXPECT_EQ(note.asked.back().at_ms, 39);
  ASSERT_EQ(note.projects.size(), LayerManifest::kMostProjects);
  EXPECT_EQ(note.projects.back(), "p39");
}

TEST(LayerManifest, AWishThatIsResolvedAgainKeepsItsProjects) {
  LayerManifest note = a_note();
  note.note_asked(std::string(64, 'e'), "a", 5000, "two");
  ASSERT_EQ(note.asked.size(), 1u);
  EXPECT_EQ(note.asked[0].at_ms, 5000);
  EXPECT_EQ(note.asked[0].projects, (std::vector<std::string>{"one", "two"}));
}

TEST(LayerManifest, AProjectIsNotedOnce) {
  LayerManifest note = a_note();
  EXPECT_FALSE(note.note_project(std::string(64, 'e'), "one"));
  EXPECT_TRUE(note.note_project(std::string(64, 'e'), "two"));
  EXPECT_FALSE(note.note_project(std::string(64, 'e'), "two"));
}

TEST(ParseNote, TakesNothingThatItDoesNotKnow) {
  const std::string good = note_text(a_note());
  const auto with = [&good](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  ASSERT_TRUE(parse_note(good));
  EXPECT_FALSE(parse_note(""));
  EXPECT_FALSE(parse_note("{}"));
  EXPECT_FALSE(parse_note("[]"));
  EXPECT_FALSE(parse_note(good + "x"));
  EXPECT_FALSE(parse_note(with("\"form\":1", "\"form\":2")));
  EXPECT_FALSE(parse_note(with("\"form\":1", "\"form\":1,\"more\":1")));
  EXPECT_FALSE(parse_note(with("\"pip\"", "\"gem\"")));
  EXPECT_FALSE(parse_note(with("\"pip\"", "1")));
  EXPECT_FALSE(parse_note(with("\"corrupt\":false", "\"corrupt\":0")));
  EXPECT_FALSE(parse_note(with("\"checked_ms\":2000", "\"checked_ms\":-1")));
  EXPECT_FALSE(parse_note(with("\"checked_ms\":2000", "\"checked_ms\":1.5")));
  EXPECT_FALSE(parse_note(with(std::string(64, 'e'), "e")));
  EXPECT_FALSE(parse_note(with("[\"a\",", "[")));
  EXPECT_FALSE(parse_note(good + std::string(kMaxLayerNote, ' ')));
}

}  // namespace
}  // namespace glovebox::packages
