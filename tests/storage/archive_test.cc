// Runs as archives, on a real, private PostgreSQL: what is exported comes back as it was, and what
// was changed on the way does not.

#include "storage/archive.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "common/ids.h"
#include "controller/api/archive_check.h"
#include "gtest/gtest.h"
#include "storage/pg_store.h"
#include "tests/storage/cluster.h"
#include "xxhash.h"

namespace lockstep::storage {
namespace {

Cluster* const cluster = static_cast<Cluster*>(testing::AddGlobalTestEnvironment(new Cluster));

using Parts = std::vector<v1::ArchivePart>;

class ArchiveTest : public testing::Test {
 protected:
  ArchiveTest() {
    auto opened =
        PgStore::Open({cluster->server->conninfo(), cluster->server->reader_conninfo(), "test"});
    EXPECT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    EXPECT_TRUE(store_->AcquireEpoch("test").ok());
    connection_ = *PgConnection::Open(cluster->server->conninfo());
  }

  // A run that has ended, with a host and an interval.
  std::string MakeRun() {
    measure::RunRecord run;
    run.run_id = common::NewUuid();
    run.job.set_name("archived 'job' \\ \"x\"");
    v1::Target* target = run.job.add_targets();
    target->set_name("t");
    target->mutable_null()->set_size_bytes(1 << 30);
    v1::PhaseSpec* phase = run.job.add_phases();
    phase->set_name("load");
    phase->mutable_run()->set_duration_ns(1000000000);
    phase->mutable_run()->add_workloads()->set_name("w");
    (*run.job.mutable_labels())["a"] = "b\\c";
    run.owner = "me";
    run.seed = 5;
    EXPECT_TRUE(store_->Enqueue(run).ok());
    measure::RunWorker worker{0, common::NewUuid(), common::NewUuid(), "node0", "boot", {}};
    worker.inspection.add_targets()->set_target(0);
    EXPECT_TRUE(store_->StartRun(run.run_id, {worker}).ok());
    measure::PhaseRecord record;
    record.name = "load";
    record.kind = "run";
    record.interval_ns = 1000000000;
    record.spec = *phase;
    EXPECT_TRUE(store_->BeginPhase(run.run_id, record, {phase->run().workloads(0)}, {0}).ok());
    const int64_t at = int64_t{1790000000} * 1000000000;
    EXPECT_TRUE(store_->CommitGo(run.run_id, 0, 1, 123, at, {{0, 7, 8}}).ok());
    IngestBatch batch;
    batch.phase.set_run_id(run.run_id);
    batch.phase.set_attempt(1);
    batch.go_wall_ns = at;
    v1::IntervalSample* sample = batch.items.emplace_back().mutable_interval();
    sample->set_interval_class(v1::INTERVAL_CLASS_MEASURED);
    sample->set_end_ns(1000000000);
    sample->add_workloads();
    sample->add_interfaces()->set_name("eth0");
    v1::NfsSample* nfs = sample->add_nfs();
    nfs->set_mount("/mnt");
    nfs->set_operation("READ");
    batch.items.emplace_back().mutable_result()->add_workloads()->set_engine("strange");
    EXPECT_TRUE(store_->Ingest({batch}).ok());
    EXPECT_TRUE(store_->EndPhase(run.run_id, 0, 1, measure::PhaseState::kDone, "", {}, {}).ok());
    EXPECT_TRUE(store_->AddEvent(run.run_id, measure::Severity::kInfo, "node0", "x\ny", at).ok());
    EXPECT_TRUE(store_->SetLost(run.run_id, 0, "gone", 60000000000).ok());
    return run.run_id;
  }
  std::string MakeEndedRun() {
    const std::string run = MakeRun();
    EXPECT_TRUE(store_->AddNote(run, {"anna", "a cable", std::nullopt, std::nullopt}).ok());
    EXPECT_TRUE(store_->EndRun(run, {.state = measure::RunState::kDone}).ok());
    return run;
  }

  Parts Export(const std::string& run) {
    Parts parts;
    const absl::Status status = store_->ExportRun(run, [&](v1::ArchivePart part) {
      parts.push_back(std::move(part));
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    return parts;
  }

  absl::StatusOr<std::string> Import(const Parts& parts) {
    size_t next = 0;
    return store_->ImportRun(
        [&]() -> absl::StatusOr<std::optional<v1::ArchivePart>> {
          if (next == parts.size()) return std::optional<v1::ArchivePart>();
          return std::optional(parts[next++]);
        },
        &controller::CheckArchivedRun);
  }

  void Remove(const std::string& run) {
    for (const char* table : {"interval_operations", "device_samples", "host_samples",
                              "interface_samples", "nfs_samples", "quota_samples", "runs"}) {
      EXPECT_TRUE(
          connection_->Query(std::string("DELETE FROM ") + table + " WHERE run_id = $1", {run})
              .ok());
    }
  }

  // How many rows each table has of the run.
  std::string RowsOf(const std::string& run) {
    auto rows = connection_->Query(
        "SELECT string_agg(t || ' ' || (xpath('/row/n/text()', query_to_xml(format('SELECT "
        "count(*) AS n FROM lockstep.%I WHERE run_id = %L', t, $1::text), false, true, "
        "'')))[1]::text, "
        "E'\n' ORDER BY t) AS counts FROM (SELECT table_name AS t FROM information_schema.columns "
        "WHERE "
        "table_schema = 'lockstep' AND column_name = 'run_id') s",
        {run});
    EXPECT_TRUE(rows.ok()) << rows.status();
    return rows.ok() ? rows->Text(0, "counts") : "";
  }

  std::unique_ptr<PgStore> store_;
  std::unique_ptr<PgConnection> connection_;
};

// When the run's event was, as PostgreSQL writes it.
constexpr char kEventTime[] = "2026-09-21 14:13:20+00";

// Says again what the rows are, as somebody would who changed them.
void Sign(Parts* parts) {
  std::string all;
  for (const v1::ArchivePart& part : *parts) all += part.rows();
  for (v1::ArchivePart& part : *parts) {
    if (!part.has_end()) continue;
    part.mutable_end()->set_bytes(all.size());
    part.mutable_end()->set_digest(XXH64(all.data(), all.size(), 0));
  }
}

// Replaces a text in the rows of a table.
void Change(Parts* parts, const std::string& table, const std::string& from,
            const std::string& to) {
  std::string name;
  bool changed = false;
  for (v1::ArchivePart& part : *parts) {
    if (part.has_table()) name = part.table().name();
    if (!part.has_rows() || name != table) continue;
    const std::string rows = absl::StrReplaceAll(part.rows(), {{from, to}});
    changed = changed || rows != part.rows();
    part.set_rows(rows);
  }
  EXPECT_TRUE(changed) << table << " has no " << from;
  Sign(parts);
}

TEST_F(ArchiveTest, WhatIsExportedComesBackAsItWas) {
  const std::string run = MakeEndedRun();
  const std::string rows = RowsOf(run);
  const Parts parts = Export(run);
  EXPECT_EQ(Import(parts).status().code(), absl::StatusCode::kAlreadyExists);
  Remove(run);
  EXPECT_NE(RowsOf(run), rows);
  const auto imported = Import(parts);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(*imported, run);
  EXPECT_EQ(RowsOf(run), rows);
  Parts again = Export(run);
  ASSERT_EQ(again.size(), parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    // The hold on the lost worker's targets stays where its targets are.
    if (parts[i].rows().find("gone") != std::string::npos || parts[i].has_end()) continue;
    EXPECT_EQ(again[i].DebugString(), parts[i].DebugString());
  }
  EXPECT_TRUE(store_->Quarantines()->empty());
}

// As a Lockstep of schema 9 wrote it.
void MakeOlder(Parts* parts) {
  parts->front().mutable_head()->set_schema(9);
  Parts older;
  std::string table;
  for (v1::ArchivePart& part : *parts) {
    if (part.has_table()) table = part.table().name();
    const std::set<std::string> later = {
        "findings",       "block_writes",        "fleet_intervals",
        "host_lines",     "host_spans",          "fleet_interval_kinds",
        "latency_blocks", "percentile_figures",  "time_figures",
        "sweep_figures",  "sweep_point_figures", "device_rollups",
        "host_rollups",   "interface_samples",   "interface_rollups",
        "nfs_samples",    "nfs_rollups",         "observed_shares",
        "notes",          "quota_samples",       "quota_rollups"};
    if (later.contains(table) && !part.has_end()) continue;
    // confirm, saved_report
    for (int i = 0; i < 2 && table == "runs"; ++i) {
      if (part.has_table()) part.mutable_table()->mutable_columns()->RemoveLast();
      if (part.has_rows()) {
        part.set_rows(part.rows().substr(0, part.rows().rfind('\t')) + "\n");
      }
    }
    // These have had columns more since then, which have these values here.
    const std::map<std::string, std::pair<int, std::string>> more = {
        {"phase_verdicts", {2, "\t\\N\t\\N"}}, {"device_samples", {3, "\t\\N\t\\N\tf"}}};
    const auto added = more.find(table);
    if (added != more.end() && part.has_table()) {
      auto* columns = part.mutable_table()->mutable_columns();
      columns->DeleteSubrange(columns->size() - added->second.first, added->second.first);
    }
    // The figures that vmstat prints beside the first columns. This run has no samples of hosts.
    if (table == "host_samples" && part.has_table()) {
      auto* columns = part.mutable_table()->mutable_columns();
      columns->DeleteSubrange(columns->size() - 7, 7);
    }
    if (added != more.end() && part.has_rows()) {
      part.set_rows(absl::StrReplaceAll(part.rows(), {{added->second.second + "\n", "\n"}}));
    }
    older.push_back(std::move(part));
  }
  *parts = std::move(older);
  Sign(parts);
}

TEST_F(ArchiveTest, AnOlderSchemasRunIsTakenAndItsFiguresAreMadeAnew) {
  const std::string run = MakeEndedRun();
  v1::Report report;
  report.add_phases()->set_name("load");
  ASSERT_TRUE(store_->SaveReport(run, report).ok());
  Parts parts = Export(run);
  Remove(run);
  Parts older = parts;
  MakeOlder(&older);
  const auto imported = Import(older);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const auto without = store_->WithoutFigures(1000);
  ASSERT_TRUE(without.ok());
  EXPECT_NE(std::find(without->begin(), without->end(), run), without->end());
  auto verdicts = connection_->Query(
      "SELECT p99_spread_median IS NULL AS none FROM phase_verdicts WHERE run_id = $1", {run});
  ASSERT_TRUE(verdicts.ok() && verdicts->rows() == 1);
  EXPECT_TRUE(verdicts->Bool(0, "none"));
  // Tables that such a schema had are missed, though, and other tables are not taken.
  Remove(run);
  Parts broken = older;
  std::string table;
  std::erase_if(broken, [&](const v1::ArchivePart& part) {
    if (part.has_table()) table = part.table().name();
    return table == "events" && !part.has_end();
  });
  Sign(&broken);
  EXPECT_EQ(Import(broken).status().message(), "the archive is broken: table events is missing");
  parts.front().mutable_head()->set_schema(9);
  EXPECT_FALSE(Import(parts).ok());
  EXPECT_TRUE(Import(older).ok());
}

TEST_F(ArchiveTest, ARunInProgressIsNotExported) {
  const std::string run = MakeRun();
  const absl::Status status =
      store_->ExportRun(run, [](const v1::ArchivePart&) { return absl::OkStatus(); });
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(store_->EndRun(run, {.state = measure::RunState::kFailed}).ok());
}

TEST_F(ArchiveTest, AReceiverThatGoesAwayCostsNothingElse) {
  const std::string run = MakeEndedRun();
  const absl::Status status = store_->ExportRun(run, [](const v1::ArchivePart& part) {
    return part.has_rows() ? absl::CancelledError("gone") : absl::OkStatus();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(store_->GetRun(run).ok());
}

TEST_F(ArchiveTest, NothingOfABrokenArchiveIsStored) {
  const std::string run = MakeEndedRun();
  const std::string other = MakeEndedRun();
  const Parts whole = Export(run);
  Remove(run);
  const std::string nothing = RowsOf(run);
  const std::string others = RowsOf(other);
  struct Case {
    const char* said;
    std::function<void(Parts*)> change;
  };
  const Case cases[] = {
      {"ends in the middle", [](Parts* p) { p->pop_back(); }},
      {"ends in the middle", [](Parts* p) { p->resize(p->size() / 2); }},
      {"does not begin", [](Parts* p) { p->erase(p->begin()); }},
      {"not those that were written", [](Parts* p) { p->back().mutable_end()->set_digest(1); }},
      {"has other columns",
       [](Parts* p) {
         for (v1::ArchivePart& part : *p) {
           if (part.has_table()) part.mutable_table()->add_columns("run_id); DROP TABLE runs; --");
         }
       }},
      {"is none of a run",
       [](Parts* p) {
         for (v1::ArchivePart& part : *p) {
           if (part.table().name() == "events") part.mutable_table()->set_name("controller_epoch");
         }
       }},
      {"is none of a run",
       [](Parts* p) {
         for (v1::ArchivePart& part : *p) {
           if (part.table().name() == "phases") part.mutable_table()->set_name("runs");
         }
       }},
      {"rows of other runs", [&](Parts* p) { Change(p, "events", run, other); }},
      {"of a time before", [](Parts* p) { Change(p, "events", kEventTime, "infinity"); }},
      {"after tomorrow",
       [](Parts* p) { Change(p, "events", kEventTime, "294276-01-01 00:00:00+00"); }},
      {"of a time before",
       [](Parts* p) { Change(p, "events", kEventTime, "1999-12-31 00:00:00+00"); }},
      {"broken document",
       [](Parts* p) { Change(p, "runs", "\"a\": \"b", "\"a\": [1], \"c\": \"b"); }},
      {"not of one run that ended", [](Parts* p) { Change(p, "runs", "\tdone\t", "\trunning\t"); }},
      {"target that its job has not",
       [](Parts* p) { Change(p, "run_workers", "[{}]", "[{\"target\": 77}]"); }},
      {"result is of no workload",
       [](Parts* p) {
         Change(p, "worker_results", "\"strange\"", "\"strange\", \"workload\": 4294967295");
       }},
      {"two names",
       [](Parts* p) { Change(p, "runs", "\tarchived 'job'", "\tanother archived 'job'"); }},
      {"more than 4096 bytes",
       [](Parts* p) { Change(p, "runs", "\tme\t", "\t" + std::string(5000, 'm') + "\t"); }},
      {"is none of its job", [](Parts* p) { Change(p, "phases", "1000000000", "-1"); }},
      {"format is 9", [](Parts* p) { p->front().mutable_head()->set_format(9); }},
      {"use a newer Lockstep", [](Parts* p) { p->front().mutable_head()->set_schema(9999); }},
      {"export again", [](Parts* p) { p->front().mutable_head()->set_schema(1); }},
      {"no UUID", [](Parts* p) { p->front().mutable_head()->set_run_id("../x"); }},
  };
  for (const Case& c : cases) {
    Parts parts = whole;
    c.change(&parts);
    const auto imported = Import(parts);
    EXPECT_FALSE(imported.ok()) << c.said;
    EXPECT_TRUE(absl::StrContains(std::string(imported.status().message()), c.said))
        << c.said << ": " << imported.status();
    EXPECT_EQ(RowsOf(run), nothing) << c.said;
    EXPECT_EQ(RowsOf(other), others) << c.said;
  }
  const auto imported = Import(whole);
  EXPECT_TRUE(imported.ok()) << imported.status();
}

}  // namespace
}  // namespace lockstep::storage
