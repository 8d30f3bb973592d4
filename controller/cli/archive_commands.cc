// export, import: runs for other stores, and tables for other engines.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/text.h"
#include "controller/cli/archive_file.h"
#include "controller/cli/commands.h"
#include "controller/cli/table_export.h"
#include "google/protobuf/io/gzip_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "google/protobuf/util/delimited_message_util.h"
#include "measure/states.h"

namespace lockstep::cli {
namespace {

namespace io = google::protobuf::io;
using google::protobuf::util::SerializeDelimitedToZeroCopyStream;

struct ArchiveFlags {
  std::vector<std::string> runs;
  v1::RunFilter filter;
  std::string output;
  std::string tables;
  bool intervals = false;
  std::string file;
};

bool FromFilter(const ArchiveFlags& flags) { return flags.filter.ByteSizeLong() > 0; }

// The ids of the runs that are asked for. kOk, or kError after a message.
int FindRuns(v1::Controller::Stub* stub, const ArchiveFlags& flags, std::vector<std::string>* ids) {
  if (flags.runs.empty() == !FromFilter(flags)) {
    return Fail("name runs, or say which by --label, --job, --owner, --host, --since, …");
  }
  *ids = flags.runs;
  std::set<std::string> seen(ids->begin(), ids->end());
  if (seen.size() != ids->size()) return Fail("a run is named twice");
  uint32_t offset = 0;
  while (FromFilter(flags)) {
    grpc::ClientContext call;
    v1::HistoryRequest request;
    *request.mutable_filter() = flags.filter;
    request.set_limit(limits::kHistoryLimit);
    request.set_offset(offset);
    v1::HistoryReply reply;
    const grpc::Status status = stub->GetHistory(&call, request, &reply);
    if (!status.ok()) return Fail(status);
    for (const v1::RunSummary& run : reply.runs()) {
      const bool ended = !measure::IsInProgress(run);
      // A run that is submitted between two pages shifts the others, and one appears twice.
      if (ended && seen.insert(run.run_id()).second) ids->push_back(run.run_id());
    }
    offset += static_cast<uint32_t>(reply.runs_size());
    if (reply.runs_size() < limits::kHistoryLimit) break;
  }
  return ids->empty() ? Fail("no run that has ended matches") : kOk;
}

absl::Status ExportInto(v1::Controller::Stub* stub, const std::string& run_id,
                        io::ZeroCopyOutputStream* out, std::string* whole_id) {
  grpc::ClientContext call;
  v1::ExportRequest request;
  request.set_run_id(run_id);
  const auto reader = stub->ExportRun(&call, request);
  v1::ArchivePart part;
  bool written = true;
  while (written && reader->Read(&part)) {
    if (part.has_head()) *whole_id = part.head().run_id();
    written = SerializeDelimitedToZeroCopyStream(part, out);
  }
  // Finish() needs a stream that has been read to its end. After the cancellation the controller
  // sends nothing more.
  if (!written) call.TryCancel();
  const grpc::Status status = reader->Finish();
  if (!written) return absl::InternalError("the file cannot be written");
  return ToAbsl(status);
}

// All runs into one file, which is there when it is whole.
absl::Status ExportAll(v1::Controller::Stub* stub, const std::vector<std::string>& ids,
                       const std::string& path) {
  const std::string part_path = path + ".part";
  unlink(part_path.c_str());  // of one that was killed
  // The name is predictable. O_EXCL and O_NOFOLLOW refuse a file or a link that somebody else put
  // there.
  common::FileDescriptor file(
      open(part_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file.valid()) return common::ErrnoStatus(errno, part_path);
  absl::Status status;
  {
    io::FileOutputStream raw(file.get());
    io::GzipOutputStream zipped(&raw);
    for (const std::string& id : ids) {
      std::string whole_id;
      status = ExportInto(stub, id, &zipped, &whole_id);
      if (!status.ok()) break;
      std::cerr << "exported " << common::Printable(whole_id) << "\n";
    }
    // The file has an end of its own: otherwise a file that was cut between two runs would look
    // complete.
    v1::ArchivePart last;
    last.mutable_end();
    const bool ended = status.ok() && SerializeDelimitedToZeroCopyStream(last, &zipped);
    const bool closed = zipped.Close() && raw.Flush() && (ended || !status.ok());
    if (status.ok() && !closed) {
      status =
          absl::InternalError(absl::StrCat(part_path, ": ", common::ErrnoText(raw.GetErrno())));
    }
  }
  // The data is durable before the name is. After a power failure the name stands for a whole
  // archive, or does not exist.
  if (status.ok() && fsync(file.get()) != 0) status = common::ErrnoStatus(errno, part_path);
  if (status.ok() && rename(part_path.c_str(), path.c_str()) != 0) {
    status = common::ErrnoStatus(errno, path);
  }
  if (!status.ok()) unlink(part_path.c_str());
  return status;
}

int Export(const Context& context, const ArchiveFlags& flags) {
  if (flags.output.empty() == flags.tables.empty()) {
    return Fail("write --output FILE for an archive, or --tables DIRECTORY for tables");
  }
  struct stat about;
  // rename(2) replaces whatever has the name, so a name that exists is refused first. lstat(2) also
  // finds a link that leads nowhere.
  if (!flags.output.empty() && lstat(flags.output.c_str(), &about) == 0) {
    return Fail(absl::StrCat(flags.output, " is there already; name a new file"));
  }
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  std::vector<std::string> ids;
  if (const int status = FindRuns(stub->get(), flags, &ids); status != kOk) return status;
  const absl::Status done = flags.tables.empty()
                                ? ExportAll(stub->get(), ids, flags.output)
                                : ExportTables(stub->get(), ids, flags.tables, flags.intervals);
  return done.ok() ? kOk : Fail(done);
}

// Reads the archive of one run up to its end, and sends it. Nothing more where `*more` is false.
absl::Status ImportNext(v1::Controller::Stub* stub, const std::string& path,
                        io::ZeroCopyInputStream* in, bool* more, v1::ImportReply* reply) {
  const auto named = [&path](const absl::Status& broken) {
    return absl::Status(broken.code(), absl::StrCat(path, ": ", std::string(broken.message())));
  };
  v1::ArchivePart part;
  absl::Status read = ReadArchivePart(in, &part);
  *more = read.ok();
  if (!*more) return named(read);
  if (part.has_end()) {  // the file's own
    *more = false;
    return absl::OkStatus();
  }
  grpc::ClientContext call;
  const auto writer = stub->ImportRun(&call, reply);
  bool taken = true;  // until the controller has refused it, and the rest is read over
  // A run that the controller refuses is still read to its end, since the next run of the file
  // begins there.
  while (!part.has_end()) {
    taken = taken && writer->Write(part);
    part.Clear();
    read = ReadArchivePart(in, &part);
    if (!read.ok()) break;
  }
  if (read.ok() && taken) writer->Write(part);
  if (!read.ok()) call.TryCancel();
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  return read.ok() ? ToAbsl(status) : named(read);
}

int Import(const Context& context, const ArchiveFlags& flags) {
  // Opening a FIFO waits for a writer (fifo(7)). With O_NONBLOCK it returns at once, and the check
  // below refuses it.
  const common::FileDescriptor file(open(flags.file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about;
  if (!file.valid() || fstat(file.get(), &about) != 0) {
    return Fail(common::ErrnoStatus(errno, flags.file));
  }
  if (!S_ISREG(about.st_mode)) return Fail(absl::StrCat(flags.file, " is not a regular file"));
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  io::FileInputStream raw(file.get());
  io::GzipInputStream zipped(&raw);
  int imported = 0;
  int known = 0;
  while (true) {
    bool more = false;
    v1::ImportReply reply;
    const absl::Status status = ImportNext(stub->get(), flags.file, &zipped, &more, &reply);
    if (absl::IsAlreadyExists(status)) {
      // Runs that exist are skipped, so that an import that broke off can be repeated.
      ++known;
      std::cerr << common::Printable(std::string(status.message())) << ", and stays as it is\n";
      continue;
    }
    if (!status.ok()) {
      if (imported > 0) std::cerr << imported << " runs were imported before\n";
      return Fail(status);
    }
    if (!more) break;
    ++imported;
    std::cout << common::Printable(absl::StrCat("imported ", reply.run().run_id(), " (",
                                                reply.run().job_name(), ", ", reply.run().state(),
                                                ")"))
              << "\n";
  }
  if (imported > 0) return kOk;
  return Fail(
      absl::StrCat(flags.file, known > 0 ? ": all its runs are here already" : " has no run"));
}

}  // namespace

void AddArchiveCommands(CLI::App* app, const Context* context, int* status) {
  const auto flags = std::make_shared<ArchiveFlags>();
  CLI::App* into = app->add_subcommand(
      "export", "Write runs to a file for another store, or as tables for other engines");
  into->add_option("RUN", flags->runs, "Ids, starts of ids, or last");
  AddRunFilter(into, &flags->filter);
  into->add_option("--output", flags->output, "An archive that lockstep import reads");
  into->add_option("--tables", flags->tables,
                   "A directory for gzipped JSON lines, VIEW/month=…/run=…, that DuckDB, Spark and "
                   "Trino read");
  into->add_flag("--intervals", flags->intervals,
                 "With --tables: also the histograms of every interval and host");
  into->footer(
      "Examples:\n  lockstep export last --output run.lockstep\n  lockstep export --label "
      "array=a9 --tables /srv/history\ndocs/reference/reports.md says how tables are read.");
  into->callback([=] { *status = Export(*context, *flags); });

  CLI::App* from =
      app->add_subcommand("import", "Put runs that another store exported into this one");
  from->add_option("FILE", flags->file, "An archive of lockstep export --output")->required();
  from->footer("Needs the role admin. Example:\n  lockstep import run.lockstep");
  from->callback([=] { *status = Import(*context, *flags); });
}

}  // namespace lockstep::cli
