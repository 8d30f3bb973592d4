// Reports of stored runs stay the same, figure by figure, whatever version of the programs makes
// them. golden/store_0022.sql holds ten short runs as a store of schema version 22 has them: a mix
// with expectations, a curve, several workloads, verification (clean, and after a change), a rate
// limit, buffered writes, a backlog, a lost host, a repeated attempt, and one that was stopped.
//
// If a report changes on purpose: `bazel run //tests/storage:golden_report_test -- --write`, then
// read the difference.

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "controller/report/csv.h"
#include "controller/report/json.h"
#include "controller/report/text.h"
#include "controller/runs/reports.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "storage/pg_store.h"
#include "tests/storage/cluster.h"

namespace lockstep::controller {
namespace {

using google::protobuf::util::MessageDifferencer;

constexpr char kDirectory[] = "tests/storage/golden/";

auto* const cluster =
    static_cast<storage::Cluster*>(testing::AddGlobalTestEnvironment(new storage::Cluster));
bool writes = false;

std::string Read(const std::string& name) {
  std::ifstream file(absl::StrCat(kDirectory, name));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void Write(const std::string& name, const std::string& text) {
  std::ofstream(absl::StrCat(std::getenv("BUILD_WORKSPACE_DIRECTORY"), "/", kDirectory, name))
      << text;
}

TEST(GoldenReportTest, ReportsOfAnOlderStoreAreTheSame) {
  const std::string here = cluster->server->conninfo();
  const std::string there = absl::StrReplaceAll(here, {{"dbname=lockstep", "dbname=golden"}});
  ASSERT_NE(here, there);
  ASSERT_TRUE((*storage::PgConnection::Open(here))->Execute("CREATE DATABASE golden").ok());
  {
    auto restored = *storage::PgConnection::Open(there);
    const absl::Status status = restored->Execute(Read("store_0022.sql"));
    ASSERT_TRUE(status.ok()) << status;
  }
  auto store = storage::PgStore::Open({there, cluster->server->reader_conninfo(), "golden"});
  ASSERT_TRUE(store.ok()) << store.status();
  v1::HistoryRequest everything;
  auto runs = (*store)->History(everything);
  ASSERT_TRUE(runs.ok()) << runs.status();
  ASSERT_EQ(runs->runs_size(), 10);
  for (int i = 0; i < runs->runs_size(); ++i) {
    const auto report = ReportOf(store->get(), runs->runs(runs->runs_size() - 1 - i).run_id());
    ASSERT_TRUE(report.ok()) << report.status();
    const std::string name = absl::StrFormat("%02d", i + 1);
    const std::string text = RenderText(*report, {false, 100, true});
    const std::string csv = RenderCsv(*report);
    if (writes) {
      Write(name + ".txt", text);
      Write(name + ".csv", csv);
      Write(name + ".json", ToJson(*report));
      continue;
    }
    EXPECT_EQ(text, Read(name + ".txt")) << name;
    EXPECT_EQ(csv, Read(name + ".csv")) << name;
    // The order of a map's entries in JSON does not matter.
    v1::Report golden;
    const auto parsed = google::protobuf::util::JsonStringToMessage(Read(name + ".json"), &golden);
    ASSERT_TRUE(parsed.ok()) << name << ": " << std::string(parsed.message());
    MessageDifferencer differencer;
    std::string differences;
    differencer.ReportDifferencesToString(&differences);
    EXPECT_TRUE(differencer.Compare(golden, *report)) << name << ":\n" << differences;
  }
}

}  // namespace
}  // namespace lockstep::controller

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  lockstep::controller::writes = argc > 1 && std::string(argv[1]) == "--write";
  return RUN_ALL_TESTS();
}
