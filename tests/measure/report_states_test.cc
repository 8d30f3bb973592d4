#include "measure/report_states.h"

#include <set>

#include "gtest/gtest.h"
#include "proto/finding.pb.h"
#include "proto/report.pb.h"

namespace lockstep::measure {
namespace {

// Each value of an enum has a text of its own, which is read back as that value.
template <typename Enum>
void ExpectTexts(Enum last) {
  std::set<std::string> texts;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const auto value = static_cast<Enum>(i);
    EXPECT_EQ(Parse<Enum>(Text(value)), value) << Text(value);
    EXPECT_FALSE(Text(value).empty());
    texts.insert(Text(value));
  }
  EXPECT_EQ(texts.size(), static_cast<size_t>(last) + 1);
  EXPECT_EQ(texts.size(), kTexts<Enum>.texts.size()) << "an enumerator behind the last one";
  EXPECT_FALSE(Parse<Enum>("").has_value());
  EXPECT_FALSE(Parse<Enum>("of a newer controller").has_value());
}

TEST(ReportStatesTest, EachTextIsReadBack) {
  ExpectTexts(VerdictWord::kNothingMeasured);
  ExpectTexts(FindingKind::kPaths);
  ExpectTexts(Figure::kDeviceAwait);
  ExpectTexts(Limit::kQueueDepth);
  ExpectTexts(Operations::kFsync);
  ExpectTexts(LatencyMetric::kSubmissionLatency);
  ExpectTexts(IntervalClass::kDrain);
  ExpectTexts(HeadlineKind::kFiles);
  ExpectTexts(ObservedKind::kPrograms);
  ExpectTexts(DifferenceKind::kFact);
  ExpectTexts(SweepFigure::kMean);
  ExpectTexts(Unit::kRequests);
}

// These texts are in stored reports, JSON and SQL.
TEST(ReportStatesTest, TextsStayAsTheyAre) {
  EXPECT_EQ(Text(VerdictWord::kExpectationsFailed), "expectations failed");
  EXPECT_EQ(Text(VerdictWord::kNothingMeasured), "nothing measured");
  EXPECT_EQ(Text(FindingKind::kInterference), "interference");
  EXPECT_EQ(Text(Figure::kP999), "p999_ns");
  EXPECT_EQ(Text(Limit::kAboveDevice), "above the device");
  EXPECT_EQ(Text(Limit::kServerOrNetwork), "server or network");
  EXPECT_EQ(Text(Operations::kTotal), "total");
  EXPECT_EQ(Text(LatencyMetric::kServiceTime), "service_time");
  EXPECT_EQ(Text(IntervalClass::kMeasured), "measured");
  EXPECT_EQ(Text(HeadlineKind::kVerify), "verify");
  EXPECT_EQ(Text(ObservedKind::kDevice), "observed");
  EXPECT_EQ(Text(DifferenceKind::kJob), "job");
  EXPECT_EQ(Text(SweepFigure::kIops), "IOPS");
  EXPECT_EQ(Text(SweepFigure::kMean), "mean latency");
  EXPECT_EQ(Text(Unit::kPerIo), "1/IO");
  EXPECT_EQ(Text(Unit::kRatio), "%");
}

TEST(ReportStatesTest, AMessageIsOfItsWordAlone) {
  v1::FindingGroup group;
  group.set_kind("slow");
  EXPECT_TRUE(Is(group, FindingKind::kSlow));
  EXPECT_FALSE(Is(group, FindingKind::kStraggler));
  EXPECT_TRUE(IsOfHosts(FindingKind::kStarvation));
  EXPECT_FALSE(IsOfHosts(FindingKind::kCoalesced));
  v1::OperationReport operation;
  EXPECT_FALSE(Is(operation, Operations::kTotal));
  operation.set_kind("total");
  EXPECT_TRUE(Is(operation, Operations::kTotal));
}

}  // namespace
}  // namespace lockstep::measure
