// The position of a note in the run.

#include "controller/report/notes.h"

#include "absl/strings/match.h"
#include "controller/report/markdown.h"
#include "controller/report/text.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

v1::Report Noted(const std::string& at) {
  v1::Report report;
  report.mutable_run()->set_started_at("2026-11-22T08:00:00Z");
  v1::PhaseReport* phase = report.add_phases();
  phase->set_name("mix");
  phase->set_started_at("2026-11-22T08:00:10.500Z");
  phase->set_duration_seconds(60);
  v1::EventReport* note = report.add_events();
  note->set_at(at);
  note->set_severity("note");
  note->set_author("anna");
  note->set_message("a cable @all");
  return report;
}

TEST(NotesTest, ItStandsInThePhaseThatWasInProgress) {
  const std::vector<NoteLine> notes = NotesOf(Noted("2026-11-22T08:00:13.700Z"));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].at, "08:00:13.700");
  EXPECT_EQ(notes[0].where, "mix at 3.2 s");
  EXPECT_EQ(notes[0].text, "anna: a cable @all");
}

TEST(NotesTest, ItHasTheNumberByWhichItIsRemoved) {
  v1::Report report = Noted("2026-11-22T08:00:13.700Z");
  EXPECT_EQ(NotesOf(report)[0].name, "");  // of an older controller
  report.mutable_events(report.events_size() - 1)->set_number(3);
  EXPECT_EQ(NotesOf(report)[0].name, "#3");
  EXPECT_TRUE(absl::StrContains(RenderText(report, {false, 100, false}), "  #3 08:00:13.700 (mix"));
}

TEST(NotesTest, OutsideOfPhasesItCountsFromTheStart) {
  EXPECT_EQ(NotesOf(Noted("2026-11-22T08:00:04.000Z"))[0].where, "4 s after the start");
  EXPECT_EQ(NotesOf(Noted("2026-11-22T08:02:00.000Z"))[0].where, "120 s after the start");
  EXPECT_EQ(NotesOf(Noted("2026-11-22T07:59:58.000Z"))[0].where, "2 s before the start");
  v1::Report waiting = Noted("2026-11-22T08:00:04.000Z");
  waiting.mutable_run()->clear_started_at();
  EXPECT_EQ(NotesOf(waiting)[0].where, "");
}

TEST(NotesTest, TextAndMarkdownShowThemApartFromEvents) {
  const v1::Report report = Noted("2026-11-22T08:00:13.700Z");
  for (const bool detail : {false, true}) {
    const std::string text = RenderText(report, {false, 100, detail});
    EXPECT_TRUE(absl::StrContains(text, "  08:00:13.700 (mix at 3.2 s) anna: a cable @all\n"))
        << text;
    EXPECT_FALSE(absl::StrContains(text, "── events")) << text;
  }
  EXPECT_TRUE(absl::StrContains(RenderMarkdown(report), "anna&#58; a cable &#64;all\n"));
}

}  // namespace
}  // namespace lockstep::controller
