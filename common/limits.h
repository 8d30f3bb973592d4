#pragma once

#include <cstdint>

namespace lockstep::limits {

// Every limit on what others can make a program of ours hold, wait for or do: name, value, unit,
// what is limited, and what happens beyond it. `tools/limits` makes docs/reference/limits.md from
// this table. Fields of a job have their limits as options in proto/job.proto, and in
// docs/reference/job.md.
#define LOCKSTEP_LIMITS(LIMIT)                                                                     \
  /* Calls to the controller. */                                                                   \
  LIMIT(kJobBytes, 1 << 20, "bytes", "a job, as a message", "Submit and Plan refuse it")           \
  LIMIT(kGrpcBytes, 192 << 20, "bytes",                                                            \
        "of messages that gRPC holds while they are being received, over all connections",         \
        "it reads no further until some are handled")                                              \
  LIMIT(kIdleConnectionMs, 60000, "ms", "that a connection without a call stays", "it is closed")  \
  LIMIT(kStreamsOfAConnection, 64, "calls", "at once on one connection",                           \
        "further ones wait at the caller")                                                         \
  LIMIT(kCallsWaiting, 256, "calls",                                                               \
        "quick calls that wait for a thread (stop, status, submit, …)",                            \
        "further ones: RESOURCE_EXHAUSTED")                                                        \
  LIMIT(kQuickThreads, 4, "threads", "that serve quick calls; Submit has two of its own",          \
        "calls wait")                                                                              \
  LIMIT(kSlowCallsWaiting, 32, "calls",                                                            \
        "slow calls that wait for a thread (report, history, job, devices)",                       \
        "further ones: RESOURCE_EXHAUSTED")                                                        \
  LIMIT(kSlowThreads, 2, "threads", "that serve each kind of slow calls: queries, reports",        \
        "calls wait; stop and status have threads of their own")                                   \
  LIMIT(kStopCallersPerRun, 100, "calls", "that stop one run and wait until the store has it",     \
        "further ones: UNAVAILABLE, at once")                                                      \
  LIMIT(kPlansAtOnce, 8, "calls", "plans that wait for answers of workers",                        \
        "further ones: RESOURCE_EXHAUSTED")                                                        \
  LIMIT(kWatchersAtOnce, 2000, "streams", "that watch runs", "further ones: RESOURCE_EXHAUSTED")   \
  LIMIT(kWatchHistories, 16, "runs", "in progress whose history can be replayed",                  \
        "whoever joins a further run sees new events only")                                        \
  LIMIT(kWatchHistoryBytes, 8388608, "bytes",                                                      \
        "of a run in progress, kept for those who join late",                                      \
        "the hosts of the earliest intervals are dropped, then these intervals")                   \
  LIMIT(kWatchQueue, 1000, "events", "that wait for one watcher",                                  \
        "it loses intervals; beyond twice as many it is cut off")                                  \
  LIMIT(kComparedRuns, 200, "runs", "in one set of a comparison", "a larger set is refused")       \
  LIMIT(kMeasuredRuns, 16, "runs", "that observe phases of one job are compared with",             \
        "Submit and Plan refuse the job")                                                          \
  LIMIT(kMeasuredLimits, 1000, "device limits",                                                    \
        "that one job may take from the runs in `compare_with`", "Submit and Plan refuse the job") \
  LIMIT(kHistoryLimit, 1000, "runs", "in one answer of history", "a larger `limit` is refused")    \
  LIMIT(kNotesOfARun, 200, "notes", "on one run", "further ones: RESOURCE_EXHAUSTED")              \
  LIMIT(kNoteBytes, 1000, "bytes", "a note's text", "a longer one is refused")                     \
  LIMIT(kQueuedRuns, 1000, "runs", "that wait", "Submit refuses further ones")                     \
  LIMIT(kPlanTokenSeconds, 86400, "s", "from a plan to the job that it confirms",                  \
        "Submit refuses the token; plan again")                                                    \
  LIMIT(kEnrollDevices, 4096, "devices", "in one listing of `lockstep devices enroll`",            \
        "the listing is refused; choose fewer")                                                    \
  LIMIT(kMinEnrolledBytes, 16 << 20, "bytes", "of a device that is enrolled, at least",            \
        "it is left out; name it in each job")                                                     \
  LIMIT(kReportBytes, 256 << 20, "bytes", "a report, as a message", "gRPC refuses it")             \
  LIMIT(kPoisonedStarts, 2, "crashes", "of a controller while it works on the same run",           \
        "the run is quarantined: failed, with an event")                                           \
  LIMIT(kSubmitNs, 5000000000, "ns", "that Submit waits for a store that is unavailable",          \
        "UNAVAILABLE")                                                                             \
  /* Jobs. */                                                                                      \
  LIMIT(kHostNames, 10000, "names", "that a selector's ranges stand for (node[1-8])",              \
        "the job is refused")                                                                      \
  LIMIT(kSelectorNames, 100000, "names", "that all selectors of a job stand for, together",        \
        "the job is refused")                                                                      \
  LIMIT(kHostRanges, 8, "ranges", "in one name", "the job is refused")                             \
  LIMIT(kFilesOfAJob, 65536, "files", "of all file targets of a job, on one worker",               \
        "the job is refused")                                                                      \
  LIMIT(kMaxRangesOfARun, 4194304, "byte ranges", "that a run's workers write to, together",       \
        "the run is refused before anything is opened")                                            \
  LIMIT(kStripes, 1048576, "stripes", "of an interleaved target that are one worker's",            \
        "the run is refused before anything is opened")                                            \
  LIMIT(kJobSteps, 2000, "phases", "that a job's phases become by their sweeps and curves",        \
        "the job is refused before any is made")                                                   \
  LIMIT(kJobComparisons, 10000000, "comparisons",                                                  \
        "of a job's workloads with the targets of their phases", "the job is refused")             \
  LIMIT(kJobProblems, 20, "problems", "named of a job that is refused", "the rest is not named")   \
  LIMIT(kPlansOfACaller, 4, "calls", "plans of one caller at once",                                \
        "further ones: RESOURCE_EXHAUSTED")                                                        \
  LIMIT(kQueuedRunsOfACaller, 250, "runs", "of one caller with a certificate that wait or run",    \
        "Submit refuses further ones")                                                             \
  LIMIT(kJobWorkloads, 4096, "workloads", "in all phases of a job", "the job is refused")          \
  LIMIT(kThreadsOfAPhase, 4096, "threads", "of one worker in a phase, over all workloads",         \
        "the job is refused")                                                                      \
  LIMIT(kInFlightOfAPhase, 1 << 20, "I/Os", "in flight on one worker, over all workloads",         \
        "the job is refused")                                                                      \
  /* Workers at the controller. */                                                                 \
  LIMIT(kWorkers, 10000, "workers", "attached at once",                                            \
        "further ones are refused, and dial again")                                                \
  LIMIT(kUnwelcomed, 10000, "streams", "that have not said Hello yet", "further ones are refused") \
  LIMIT(kHelloNs, 10000000000, "ns", "until a stream has said Hello", "it is ended")               \
  LIMIT(kWorkerBytes, 16 << 20, "bytes", "a message to the controller, or to a worker",            \
        "gRPC refuses it")                                                                         \
  LIMIT(kWorkerMessages, 200, "messages/s", "that a worker sends on Control for long",             \
        "it is disconnected, with the reason")                                                     \
  LIMIT(kWorkerBurst, 2000, "messages", "that a worker may send at once", "as above")              \
  LIMIT(kCommandsWaiting, 4096, "messages", "that wait for a worker that does not read",           \
        "its connection is ended")                                                                 \
  LIMIT(kUnansweredBatches, 8, "batches", "of a worker that are read before an answer",            \
        "its stream is not read until they are committed")                                         \
  LIMIT(kBatchBytes, 4 << 20, "bytes", "a batch of samples", "the batch is refused for good")      \
  LIMIT(kQueuedSampleBytes, 64 << 20, "bytes", "of samples that wait in memory for the store",     \
        "all go to the spool until the store keeps up")                                            \
  LIMIT(kIntervalsAhead, 600, "intervals",                                                         \
        "that one worker is ahead of the slowest in the live view",                                \
        "the live view goes on without the missing host; the store has all")                       \
  LIMIT(kIntervalsOfAPhase, 40000000, "intervals", "of one worker", "further ones are refused")    \
  LIMIT(kRollupsOfAPhase, 20000, "roll-ups",                                                       \
        "of ten seconds, workload, kind and metric in a phase",                                    \
        "later seconds have no roll-up; all intervals are stored")                                 \
  LIMIT(kReportHostIntervals, 100000, "intervals",                                                 \
        "of hosts whose latencies a report reads, over its phases",                                \
        "a further phase has no spread of p99 over hosts, and its hosts and service times have "   \
        "no confidence intervals")                                                                 \
  LIMIT(kDevicesOfAHost, 20000, "devices", "that a worker reports", "the others are left out")     \
  LIMIT(kDeviceListBytes, 8 << 20, "bytes", "of the devices that a worker reports in one message", \
        "the others are left out, with a line in the worker's log")                                \
  LIMIT(kMountsOfADevice, 100, "mounts", "of one device that a worker reports",                    \
        "the others are counted")                                                                  \
  LIMIT(kListItems, 1000, "items",                                                                 \
        "in any other list of what a worker says of itself and its host",                          \
        "the others are left out, with a line in the worker's log")                                \
  LIMIT(kEventsOfAPhase, 200, "events", "that a worker reports in one phase of a run",             \
        "further ones are counted, not kept")                                                      \
  /* Certificates. */                                                                              \
  LIMIT(kCertificateBytes, 65536, "bytes", "a file with a certificate, a key or authorities",      \
        "it is refused; one that replaces another leaves that in use")                             \
  LIMIT(kRevocationBytes, 1 << 20, "bytes", "a revocation list",                                   \
        "it is refused; one that replaces another leaves that in use")                             \
  LIMIT(kTlsRefreshNs, 1000000000, "ns",                                                           \
        "after which the controller reads changed certificates and revocations",                   \
        "streams of certificates that have expired or were revoked end")                           \
  /* Workers. */                                                                                   \
  LIMIT(kInspectionsWaiting, 64, "inspections", "that wait at a worker",                           \
        "further ones are not answered")                                                           \
  LIMIT(kProbeNs, 3000000000, "ns", "that inspecting a device may take",                           \
        "the device is reported as not answering")                                                 \
  LIMIT(kMaxInspections, 16, "devices or LUNs", "that a worker inspects at once", "others wait")   \
  LIMIT(kEmptinessNs, 5000000000, "ns",                                                            \
        "that reading every byte of a job's devices, to see whether they are empty, may take",     \
        "they count as not empty: to overwrite them needs a confirmation")                         \
  LIMIT(kEmptinessArmedNs, 15000000000, "ns", "the same again, when a phase is armed",             \
        "the phase fails, and nothing was written")                                                \
  LIMIT(kStampNs, 20000000000, "ns", "that writing the stamps of a worker's devices may take",     \
        "those that are left are reported as not answering")                                       \
  LIMIT(kStampsWaiting, 4, "orders", "to stamp devices that wait at a worker",                     \
        "further ones are not answered")                                                           \
  LIMIT(kInspectNs, 20000000000, "ns", "that inspecting a target's files may take",                \
        "the target is refused: its file system does not answer")                                  \
  LIMIT(kObservedDevices, 256, "devices", "that an observe phase samples on one host",             \
        "the run is refused before it begins; name fewer under `devices`")                         \
  LIMIT(kForeignFiles, 1024, "files",                                                              \
        "of a target that Lockstep did not make and a job may overwrite", "the target is refused") \
  LIMIT(kInspectionBytes, 8 << 20, "bytes",                                                        \
        "of byte ranges in a worker's answer about a job's targets", "the target is refused")      \
  LIMIT(kStorageLayers, 256, "layers", "of the storage underneath targets and observed devices",   \
        "the others are left out")                                                                 \
  LIMIT(kShutdownNs, 4500000000, "ns",                                                             \
        "from SIGTERM until a worker process ends, whatever its threads do", "it ends at once")    \
  LIMIT(kMismatchRunBytes, 16777216, "bytes",                                                      \
        "of blocks that do not match, which a worker saves of a run",                              \
        "further ones are described, not saved")                                                   \
  LIMIT(kMismatchBytes, 67108864, "bytes", "of such blocks in all",                                \
        "the oldest runs' are removed")                                                            \
  LIMIT(kMarkBytes, 65536, "bytes", "a mark beside a file", "the file is not taken for a mark")    \
  LIMIT(kSampledInterfaces, 8, "interfaces",                                                       \
        "that carry traffic of a worker's targets, with those underneath, in a phase",             \
        "the others are not sampled; their route says so")                                         \
  LIMIT(kSampledMounts, 16, "mounts of servers", "that a worker samples in a phase",               \
        "more NFS mounts of targets are not sampled; an observe phase is refused")                 \
  LIMIT(kNfsRows, 128, "rows", "of NFS mounts and operations in an interval of a worker",          \
        "the others are not sampled in that interval")                                             \
  /* The page. */                                                                                  \
  LIMIT(kPageConnections, 1000, "connections", "to the page",                                      \
        "for each that comes one without a request in progress is closed, first of those that "    \
        "never had one; where there is none: 503, or with TLS it is closed")                       \
  LIMIT(kPageBacklog, 128, "connections", "to the page that wait in the kernel", "they try again") \
  LIMIT(kPageWatchers, 500, "browsers", "that watch runs through the page",                        \
        "further ones: 429, with the reason")                                                      \
  LIMIT(kPageFeeds, 16, "runs", "that are watched through the page", "others: 429")                \
  LIMIT(kPageFeedBytes, 16777216, "bytes", "of a run's events, kept for those who watch it",       \
        "the hosts of the earliest intervals are dropped, then these intervals")                   \
  LIMIT(kPageHeartbeatSeconds, 10, "s", "without an event, after which a browser is written to",   \
        "one that has gone is found out")                                                          \
  LIMIT(kPageStallSeconds, 30, "s", "that a browser that watches may leave events unread",         \
        "it is cut off, and may come back for them")                                               \
  LIMIT(kPageAnswerBytes, 268435456, "bytes", "of answers that browsers have not taken yet",       \
        "others: 503")                                                                             \
  LIMIT(kPageExports, 4, "reports", "that are exported through the page, or wait for it",          \
        "further ones: 429")                                                                       \
  LIMIT(kPageIdleSeconds, 30, "s", "that a connection to the page may be idle between requests",   \
        "it is closed")                                                                            \
  LIMIT(kPageRequestSeconds, 10, "s", "from a request's first byte to its last", "it is closed")   \
  LIMIT(kPageRequestBytes, 16384, "bytes", "a request, with its headers",                          \
        "the connection is closed")                                                                \
  LIMIT(kArchiveBytes, 68719476736, "bytes", "of rows in an archive that is imported",             \
        "it is refused, and nothing is stored")                                                    \
  LIMIT(kArchivedRunBytes, 1 << 30, "bytes", "the run's own row in an archive, with its reports",  \
        "it is refused, and nothing is stored")                                                    \
  LIMIT(kArchivedRowBytes, 16 << 20, "bytes", "any other row in an archive",                       \
        "it is refused, and nothing is stored")                                                    \
  LIMIT(kArchivedEventBytes, 65536, "bytes", "an event in an archive",                             \
        "it is refused, and nothing is stored")                                                    \
  LIMIT(kArchivedEventsBytes, 64 << 20, "bytes", "all events in an archive",                       \
        "it is refused, and nothing is stored")                                                    \
  LIMIT(kTransfersAtOnce, 2, "exports and imports", "and histograms that are sent, at once",       \
        "others wait")                                                                             \
  LIMIT(kTransfersWaiting, 16, "such calls", "that wait", "further ones: RESOURCE_EXHAUSTED")      \
  LIMIT(kTransferNs, 86400000000000, "ns", "an export, an import, or histograms that are sent",    \
        "it is ended")                                                                             \
  LIMIT(kMaxWriteLogReads, 4, "workers", "that load what others have written, at once",            \
        "others wait")                                                                             \
  LIMIT(kFollowersWaiting, 256, "workers", "that wait for what others write in the phase",         \
        "more ask again a second later, and check less until then")                                \
  LIMIT(kWriteLogNs, 600000000000, "ns",                                                           \
        "that a worker may take to load what others have written", "its phase fails")              \
  LIMIT(kTransferStallNs, 20000000000, "ns", "that such a call waits for its caller",              \
        "it is ended; an import leaves nothing")                                                   \
  /* The command line's ssh. */                                                                    \
  LIMIT(kSshHosts, 1024, "hosts", "of one `--ssh`", "it is refused")                               \
  LIMIT(kSshAtOnce, 64, "hosts", "that one command connects to at once", "others wait")            \
  LIMIT(kSshAnswerBytes, 65536, "bytes", "of what ssh, or a script on a host, prints",             \
        "the rest is not read")                                                                    \
  LIMIT(kSshFileBytes, 16 << 20, "bytes", "that a host prints while its worker is up",             \
        "the connection to it ends")                                                               \
  LIMIT(kSshDoctorNs, 20000000000, "ns", "that `fleet up` waits for the doctor of a host",         \
        "the doctor is ended there, and counts as a problem of the host")                          \
  LIMIT(kSshDoctorBytes, 1 << 20, "bytes", "of the report of a host's doctor",                     \
        "it is not read, and counts as a problem of the host")                                     \
  LIMIT(kCsrBytes, 8192, "bytes", "of a certificate request that a host sends",                    \
        "it is not signed, and the host's start fails")                                            \
  LIMIT(kChallengeBytes, 128, "bytes", "of the challenge of a certificate request",                \
        "the worker refuses to make one")                                                          \
  /* Doctor and support bundle. */                                                                 \
  LIMIT(kDoctorNs, 60000000000, "ns", "that `lockstep doctor` waits for lockstep-worker",          \
        "the worker's part is ended, and counts as a problem")                                     \
  LIMIT(kDoctorStoreNs, 20000000000, "ns", "that the doctor waits for the store",                  \
        "the store counts as one that does not answer")                                            \
  LIMIT(kDoctorBytes, 4 << 20, "bytes", "of the worker's answer", "the same")                      \
  LIMIT(kSupportBundleBytes, 64 << 20, "bytes", "of files in a support bundle, unpacked",          \
        "further files are left out, and its manifest names them")                                 \
  LIMIT(kSupportLogBytes, 4 << 20, "bytes", "of each log in a support bundle",                     \
        "its beginning is left out")                                                               \
  /* The store. */                                                                                 \
  LIMIT(kReaderSeconds, 600, "s", "a statement of the reading role",                               \
        "it is ended by the server, or by the controller")                                         \
  LIMIT(kServerProcessBytes, 1 << 30, "bytes",                                                     \
        "of memory of its own that a process of the embedded PostgreSQL has",                      \
        "the statement fails: out of memory")                                                      \
  LIMIT(kServerTempBytes, 1 << 30, "bytes", "of temporary files of a session there",               \
        "the statement fails")                                                                     \
  LIMIT(kDefaultQuarantineNs, 604800000000000, "ns",                                               \
        "that a worker of a run whose rows cannot be read holds what it may write to, unless it "  \
        "says that it is idle",                                                                    \
        "other runs may write there")                                                              \
  LIMIT(kAuditDays, 400, "days", "an entry of the audit log", "it is removed")                     \
  LIMIT(kAuditWaiting, 10000, "entries", "of the audit log that wait for the store",               \
        "further ones are counted, and the count is logged")                                       \
  LIMIT(kAuditRefusals, 60, "entries",                                                             \
        "of calls by one caller that were refused or failed, in a minute",                         \
        "further ones are counted in the next entry")                                              \
  LIMIT(kStatementNs, 12000000000, "ns", "a statement that changes the store",                     \
        "the server cancels it; the controller retries it")

#define LOCKSTEP_DEFINE_LIMIT(name, value, unit, what, then) inline constexpr int64_t name = value;
LOCKSTEP_LIMITS(LOCKSTEP_DEFINE_LIMIT)
#undef LOCKSTEP_DEFINE_LIMIT

}  // namespace lockstep::limits
