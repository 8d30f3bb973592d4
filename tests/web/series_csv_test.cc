#include "web/series_csv.h"

#include <limits>

#include "gtest/gtest.h"

namespace lockstep::web {
namespace {

// Empty cells are no values to every reader. "nan" would be a text to some.
TEST(SeriesCsvTest, AFairnessThatIsNotKnownIsAnEmptyCell) {
  v1::SeriesReply reply;
  v1::FleetSeries* fleet = reply.mutable_fleet();
  for (const double jain : {0.9, std::numeric_limits<double>::quiet_NaN()}) {
    const int row = fleet->jain_size();
    reply.mutable_spans()->add_begin_seconds(row);
    reply.mutable_spans()->add_end_seconds(row + 1);
    fleet->add_iops(100);
    fleet->add_jain(jain);
    fleet->add_hosts(2);
  }
  const std::string csv = SeriesCsv(reply);
  EXPECT_NE(csv.find("\n0,1,100,,,,,,,,,,,,,,0.9,2,,,,\n1,2,100,,,,,,,,,,,,,,,2,,,,\n"),
            std::string::npos)
      << csv;
}

}  // namespace
}  // namespace lockstep::web
