// Findings that are alike become one.

#include "controller/report/finding_groups.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/report/text.h"
#include "controller/report/verdict.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

// A phase with `hosts` hosts, the first of which are stragglers with these causes.
v1::PhaseReport Slowed(int hosts, const std::vector<std::string>& causes) {
  v1::PhaseReport phase;
  phase.set_name("mix");
  phase.set_window_end_seconds(10);
  phase.add_workloads();
  phase.set_workers(static_cast<uint32_t>(hosts));
  for (int i = 0; i < hosts; ++i) phase.add_hosts()->set_host(absl::StrCat("node", i));
  for (size_t i = 0; i < causes.size(); ++i) {
    v1::Straggler* s = phase.add_stragglers();
    s->set_host(absl::StrCat("node", i));
    s->set_share(0.1);
    s->set_end_seconds(10);
    s->set_slow_seconds(10);
    s->set_cause(causes[i]);
    s->set_reason(absl::StrCat("evidence ", i));
  }
  return phase;
}

TEST(FindingGroupsTest, StragglersAreOneSentenceWithTheirCauses) {
  std::vector<std::string> causes(20, "I/O throttle");
  causes.insert(causes.begin(), 2, "not known");
  const v1::PhaseReport phase = Slowed(64, causes);
  const std::vector<v1::FindingGroup> groups = FindingGroupsOf(phase);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].kind(), "straggler");
  EXPECT_EQ(groups[0].sentence(),
            "22 of 64 hosts at 10 % of the others' IOPS: I/O throttle (20), not known (2)");
  EXPECT_EQ(groups[0].hosts_size(), 22);
  EXPECT_TRUE(absl::StartsWith(FindingGroupsOf(Slowed(1000, causes))[0].sentence(),
                               "22 of 1,000 hosts at 10 %"));
  ASSERT_EQ(groups[0].causes_size(), 2);
  EXPECT_EQ(groups[0].causes(0).hosts_size(), 20);
  EXPECT_EQ(groups[0].causes(0).hosts(0), "node2");
  EXPECT_EQ(groups[0].causes(0).reason(), "evidence 2");
}

TEST(FindingGroupsTest, ASingleOneKeepsItsReason) {
  const v1::PhaseReport phase = Slowed(4, {"device"});
  ASSERT_EQ(FindingGroupsOf(phase).size(), 1u);
  EXPECT_EQ(FindingGroupsOf(phase)[0].sentence(), StragglerText(phase.stragglers(0)));
}

TEST(FindingGroupsTest, ShortLatenciesAndTimesAreSaid) {
  v1::PhaseReport phase = Slowed(4, {"device", "device"});
  phase.mutable_stragglers(0)->set_latency_ratio(2);
  phase.mutable_stragglers(1)->set_latency_ratio(3.5);
  for (v1::Straggler& s : *phase.mutable_stragglers()) {
    s.set_begin_seconds(2);
    s.set_end_seconds(7);
  }
  const std::vector<v1::FindingGroup> groups = FindingGroupsOf(phase);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].kind(), "slow");
  EXPECT_EQ(groups[0].sentence(),
            "2 of 4 hosts with I/Os that took 2 to 3.5 times as long as the others', from 2 to 7 "
            "s: device (2)");
  EXPECT_EQ(groups[0].begin_seconds(), 2);
}

TEST(FindingGroupsTest, StarvationsAreCountedAndDevicesToo) {
  v1::PhaseReport phase = Slowed(4, {});
  for (int i = 0; i < 3; ++i) {
    v1::Starvation* s = phase.add_starvations();
    s->set_host(i == 2 ? "node1" : "node0");
    s->set_begin_seconds(2 * i);
    s->set_end_seconds(2 * i + 1);
  }
  for (int i = 0; i < 2; ++i) {
    v1::DeviceReport* d = phase.add_devices();
    d->set_name("sda");
    d->add_hosts(absl::StrCat("node", i));
    v1::Finding* finding = d->add_findings();
    finding->set_kind("split");
    finding->set_sentence(absl::StrCat("in ", i + 2, " parts"));
  }
  const std::vector<v1::FindingGroup> groups = FindingGroupsOf(phase);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].sentence(),
            "2 of 4 hosts got almost nothing, 3 times for 1 s, from 0 to 5 s");
  EXPECT_EQ(groups[0].findings(), 3u);
  EXPECT_EQ(groups[1].sentence(), "2 devices, among them sda of node0: in 2 parts");
  EXPECT_FALSE(groups[1].has_begin_seconds());
}

TEST(FindingGroupsTest, WarningsOfManyPhasesAreAFew) {
  v1::Report report;
  for (int p = 0; p < 6; ++p) {
    v1::PhaseReport* phase = report.add_phases();
    *phase = Slowed(4, {"device", "device"});
    phase->set_name(absl::StrCat("point ", p));
    for (v1::Straggler& s : *phase->mutable_stragglers()) s.set_share(0.1 + 0.1 * p);
  }
  const std::vector<std::string> warnings = Warnings(report);
  ASSERT_EQ(warnings.size(), 3u) << absl::StrJoin(warnings, "\n");
  EXPECT_TRUE(absl::EndsWith(warnings[2], "; 3 more like it")) << warnings[2];
}

TEST(FindingGroupsTest, RemarksThatDifferInFiguresAloneAreOne) {
  v1::Report report;
  for (int p = 0; p < 4; ++p) {
    v1::PhaseReport* phase = report.add_phases();
    phase->set_name(absl::StrCat("point ", p));
    phase->add_remarks(absl::StrCat("busy for ", 90 + p, " % of the time, ", p, " % by node1"));
    phase->add_remarks(absl::StrCat("sda: read ", p, p == 0 ? " MiB" : " GiB", ", not all"));
    phase->add_remarks(absl::StrCat("w", p, ": a name is no figure"));
  }
  const std::vector<std::string> warnings = Warnings(report);
  ASSERT_EQ(warnings.size(), 6u) << absl::StrJoin(warnings, "\n");
  EXPECT_EQ(warnings[0], "point 0: busy for 90 % of the time, 0 % by node1; 3 more like it");
  EXPECT_EQ(warnings[1], "point 0: sda: read 0 MiB, not all; 3 more like it");
  EXPECT_EQ(warnings[5], "point 3: w3: a name is no figure");
}

// The answer of a story: the rate is that of other requests than the load's.
TEST(FindingGroupsTest, WhatTheDeviceSawComesBeforeGaps) {
  v1::Report report;
  v1::PhaseReport* phase = report.add_phases();
  phase->add_omissions()->set_sentence("the threads completed nothing");
  v1::DeviceReport* device = phase->add_devices();
  device->set_name("sda");
  for (const char* kind : {"flushes", "queue"}) {
    v1::Finding* finding = device->add_findings();
    finding->set_kind(kind);
    finding->set_sentence(kind);
  }
  phase->add_remarks("busy");
  EXPECT_EQ(Warnings(report),
            (std::vector<std::string>{"busy", "sda: queue", "the threads completed nothing",
                                      "sda: flushes"}));
}

TEST(FindingGroupsTest, DetailsNameTheHostsOfEachCause) {
  v1::Report report;
  *report.add_phases() = Slowed(4, {"device", "device", "network"});
  const std::string text = RenderText(report, {false, 100, true});
  EXPECT_TRUE(absl::StrContains(text, "  ! 3 of 4 hosts at 10 % of the others' IOPS: device (2)"))
      << text;
  EXPECT_TRUE(absl::StrContains(text, "    device: node0, node1; on node0: evidence 0\n")) << text;
  EXPECT_FALSE(absl::StrContains(text, "is a straggler")) << text;
}

}  // namespace
}  // namespace lockstep::controller
