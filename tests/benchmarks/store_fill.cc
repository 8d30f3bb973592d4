// A store with many runs, for `tools/bench store`: some go in as a controller stores them, and are
// then copied within the server. Starts a private PostgreSQL in DIRECTORY.
//
//   store_fill DIRECTORY RUNS HOSTS SECONDS
//
// prints what it did as one line of JSON, then answers lines on its standard input until that ends:
//   report RUN       how long its report took, milliseconds
//   history JSON     how long a HistoryRequest took, milliseconds, and how many runs there are

#include <chrono>
#include <cmath>
#include <iostream>
#include <random>
#include <stdexcept>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/histogram.h"
#include "common/ids.h"
#include "controller/report/json.h"
#include "controller/runs/reports.h"
#include "google/protobuf/util/json_util.h"
#include "storage/embedded.h"
#include "storage/pg_store.h"

namespace lockstep {
namespace {

constexpr int kPhases = 4;
constexpr int64_t kStartNs = int64_t{1790000000} * 1000000000;

double SecondsSince(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

// Thrown, so that the server is stopped on the way out.
void Check(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

// Latencies as devices give them: two modes, and a tail.
common::Histogram Latencies(std::mt19937_64* random, double scale, int count) {
  std::lognormal_distribution<double> fast(11.5, 0.25), slow(13, 0.9);
  common::Histogram histogram;
  for (int i = 0; i < count; ++i) {
    const double value = (i % 20 == 0 ? slow(*random) : fast(*random)) * scale;
    histogram.Record(static_cast<uint64_t>(value));
  }
  return histogram;
}

v1::OperationCounters Counters(const common::Histogram& histogram) {
  v1::OperationCounters c;
  c.set_kind(v1::OPERATION_KIND_READ);
  c.set_operations(histogram.count());
  c.set_bytes(histogram.count() * 8192);
  c.set_latency_min_ns(static_cast<uint64_t>(histogram.Percentile(0)));
  c.set_latency_max_ns(static_cast<uint64_t>(histogram.Percentile(100)));
  c.set_latency_sum_ns(static_cast<uint64_t>(histogram.Percentile(50)) * histogram.count());
  v1::Histogram* encoded = c.add_histograms();
  encoded->set_metric(v1::METRIC_SERVICE_TIME);
  encoded->set_scheme(common::kHistogramScheme);
  encoded->set_buckets(histogram.Encode());
  return c;
}

// One worker's phase: its intervals, and the result that is their sum.
struct Part {
  std::vector<v1::DeliveryItem> intervals;
  v1::DeliveryItem result;
  size_t interval_buckets = 0, phase_buckets = 0;
};

Part MakePart(std::mt19937_64* random, double scale, int seconds) {
  Part part;
  common::Histogram sum;
  for (int s = 0; s < seconds; ++s) {
    const common::Histogram h = Latencies(random, scale, 3000);
    sum.Merge(h);
    part.interval_buckets += h.Occupied().size();
    v1::DeliveryItem item;
    v1::IntervalSample* sample = item.mutable_interval();
    sample->set_interval(s);
    sample->set_interval_class(v1::INTERVAL_CLASS_MEASURED);
    sample->set_begin_ns(s * 1000000000ll);
    sample->set_end_ns((s + 1) * 1000000000ll);
    *sample->add_workloads()->add_operations() = Counters(h);
    v1::DeviceSample* device = sample->add_devices();
    device->set_name("sda");
    device->set_reads(h.count());
    device->set_read_bytes(h.count() * 8192);
    device->set_read_time_ms(s);
    device->set_busy_time_ms(990);
    device->set_queue_time_ms(4000);
    sample->mutable_host()->set_context_switches(20000 + s);
    sample->mutable_host()->set_idle_ratio(0.75);
    part.intervals.push_back(std::move(item));
  }
  part.phase_buckets = sum.Occupied().size();
  v1::PhaseResult* result = part.result.mutable_result();
  result->set_go_ns(1000);
  result->set_first_io_ns(2000);
  result->set_last_io_ns(1000 + seconds * 1000000000ll);
  result->set_end_ns(result->last_io_ns());
  v1::WorkloadResult* workload = result->add_workloads();
  workload->set_engine("io_uring");
  *workload->add_measured() = Counters(sum);
  for (int t = 0; t < 4; ++t) {
    v1::ThreadResult* thread = result->add_threads();
    thread->set_thread(t);
    thread->set_operations(sum.count() / 4);
    thread->set_execution_time_ns(seconds * 1000000000ll);
    thread->set_wait_time_ns(seconds * 900000000ll);
  }
  return part;
}

struct Totals {
  double ingest_seconds = 0;
  size_t worker_seconds = 0, interval_buckets = 0, phase_buckets = 0, phase_parts = 0;
};

class Filler {
 public:
  Filler(storage::PgStore* store, int hosts, int seconds)
      : store_(store), hosts_(hosts), seconds_(seconds) {}

  void AddRun(int number) {
    measure::RunRecord run;
    run.run_id = common::NewUuid();
    run.job.set_name("trend");
    (*run.job.mutable_labels())["array"] = absl::StrCat("a", number % 7);
    run.job.add_targets()->set_name("data");
    run.owner = "bench";
    run.source = "name: trend\n";
    for (int p = 0; p < kPhases; ++p) {
      v1::PhaseSpec* phase = run.job.add_phases();
      phase->set_name(absl::StrCat("p", p));
      phase->mutable_run()->set_duration_ns(seconds_ * 1000000000ll);
      phase->mutable_run()->add_workloads()->set_name("w");
    }
    Check(store_->Enqueue(run));
    Check(store_->StartRun(run.run_id, Workers()));
    // One transaction, as a controller makes it that has much to store: of up to 16 MiB.
    std::vector<storage::IngestBatch> batches;
    for (int p = 0; p < kPhases; ++p) BeginPhase(run, p, 1 + 0.02 * (number % 9), &batches);
    const auto began = std::chrono::steady_clock::now();
    Check(store_->Ingest(batches));
    totals.ingest_seconds += SecondsSince(began);
    for (int p = 0; p < kPhases; ++p) {
      Check(store_->EndPhase(run.run_id, p, 1, measure::PhaseState::kDone, "", {}, {}));
    }
    Check(store_->EndRun(run.run_id, {.state = measure::RunState::kDone}));
    const auto report = controller::ReportOf(store_, run.run_id);
    Check(report.status());
    Check(store_->SaveReport(run.run_id, *report));
    last = run.run_id;
  }

  Totals totals;
  std::string last;

 private:
  std::vector<measure::RunWorker> Workers() const {
    std::vector<measure::RunWorker> workers;
    for (int h = 0; h < hosts_; ++h) {
      measure::RunWorker worker;
      worker.worker_index = h;
      worker.worker_id = absl::StrFormat("00000000-0000-4000-8000-%012d", h);
      worker.host_id = absl::StrFormat("00000000-0000-4000-9000-%012d", h);
      worker.host = absl::StrCat("node", h);
      worker.boot_id = absl::StrCat("boot", h);
      v1::TargetInspection* target = worker.inspection.add_targets();
      target->add_paths("/dev/sda");
      target->set_device_name("sda");
      target->set_device_identity(absl::StrCat("wwn-0x5000", h));
      workers.push_back(std::move(worker));
    }
    return workers;
  }

  void BeginPhase(const measure::RunRecord& run, int p, double scale,
                  std::vector<storage::IngestBatch>* batches) {
    measure::PhaseRecord phase;
    phase.phase = p;
    phase.name = run.job.phases(p).name();
    phase.kind = "run";
    phase.interval_ns = 1000000000;
    phase.spec = run.job.phases(p);
    phase.job_phase = p;
    std::vector<uint32_t> workers;
    std::vector<measure::WorkerClock> clocks;
    std::vector<Part> parts;
    for (int h = 0; h < hosts_; ++h) {
      workers.push_back(h);
      clocks.push_back({static_cast<uint32_t>(h), 0, 1000});
      parts.push_back(MakePart(&random_, scale, seconds_));
      totals.interval_buckets += parts.back().interval_buckets;
      totals.phase_buckets += parts.back().phase_buckets;
      ++totals.phase_parts;
    }
    Check(store_->BeginPhase(run.run_id, phase, {run.job.phases(p).run().workloads(0)}, workers));
    Check(store_->CommitGo(run.run_id, p, 1, 1, kStartNs, clocks));
    for (int h = 0; h < hosts_; ++h) {
      storage::IngestBatch batch;
      batch.phase.set_run_id(run.run_id);
      batch.phase.set_phase(p);
      batch.phase.set_attempt(1);
      batch.worker_index = h;
      batch.go_wall_ns = kStartNs;
      batch.items = std::move(parts[h].intervals);
      batch.items.push_back(std::move(parts[h].result));
      batches->push_back(std::move(batch));
    }
    totals.worker_seconds += static_cast<size_t>(hosts_) * seconds_;
  }

  storage::PgStore* store_;
  const int hosts_, seconds_;
  std::mt19937_64 random_{1};
};

void Answer(storage::PgStore* store, const std::string& line) {
  const auto began = std::chrono::steady_clock::now();
  if (line.rfind("report ", 0) == 0) {
    const auto report = controller::ReportOf(store, line.substr(7));
    Check(report.status());
    std::cout << absl::StrFormat("%.2f\n", 1000 * SecondsSince(began)) << std::flush;
  } else if (line.rfind("history ", 0) == 0) {
    v1::HistoryRequest request;
    const auto parsed = google::protobuf::util::JsonStringToMessage(line.substr(8), &request);
    if (!parsed.ok()) throw std::runtime_error(line);
    const auto reply = store->History(request);
    Check(reply.status());
    std::cout << absl::StrFormat("%.2f %d %.0f\n", 1000 * SecondsSince(began), reply->runs_size(),
                                 reply->total())
              << std::flush;
  } else if (line.rfind("json ", 0) == 0) {
    const auto report = controller::ReportOf(store, line.substr(5));
    Check(report.status());
    std::string json;
    (void)google::protobuf::util::MessageToJsonString(*report, &json);
    std::cout << json << "\n" << std::flush;
  } else {
    throw std::runtime_error(line);
  }
}

int Main(const std::string& directory, int runs, int hosts, int seconds) {
  auto server = storage::EmbeddedPostgres::Start(directory);
  Check(server.status());
  storage::PgStore::Options options;
  options.conninfo = (*server)->conninfo();
  options.reader_conninfo = (*server)->reader_conninfo();
  auto store = storage::PgStore::Open(options);
  Check(store.status());
  Check((*store)->AcquireEpoch("bench").status());
  Filler filler(store->get(), hosts, seconds);
  for (int i = 0; i < runs; ++i) filler.AddRun(i);
  const Totals& t = filler.totals;
  std::cout << absl::StrFormat(
                   "{\"conninfo\": \"%s\", \"last\": \"%s\", \"ingestSeconds\": %.4f, "
                   "\"workerSeconds\": %d, \"intervalBuckets\": %.1f, \"phaseBuckets\": %.1f}\n",
                   (*server)->conninfo(), filler.last, t.ingest_seconds, t.worker_seconds,
                   static_cast<double>(t.interval_buckets) / static_cast<double>(t.worker_seconds),
                   static_cast<double>(t.phase_buckets) / static_cast<double>(t.phase_parts))
            << std::flush;
  for (std::string line; std::getline(std::cin, line);) Answer(store->get(), line);
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  int runs = 0;
  int hosts = 0;
  int seconds = 0;
  if (argc != 5 || !absl::SimpleAtoi(argv[2], &runs) || !absl::SimpleAtoi(argv[3], &hosts) ||
      !absl::SimpleAtoi(argv[4], &seconds)) {
    std::cerr << "store_fill DIRECTORY RUNS HOSTS SECONDS\n";
    return 2;
  }
  try {
    return lockstep::Main(argv[1], runs, hosts, seconds);
  } catch (const std::exception& error) {
    std::cerr << "store_fill: " << error.what() << "\n";
    return 1;
  }
}
