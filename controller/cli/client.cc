#include "controller/cli/client.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/dial.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/users.h"

namespace lockstep::cli {
namespace {

// A command has other addresses to try, or a person who waits.
constexpr std::chrono::seconds kConnectTime{3};
// Workers of this machine start in less than a second, and in several on a machine that is busy.
constexpr std::chrono::seconds kWorkersTime{30};

}  // namespace

bool Context::Colour(int descriptor) const {
  return !no_colour && getenv("NO_COLOR") == nullptr && isatty(descriptor) != 0;
}

size_t Context::Width() const {
  winsize size = {};
  if (isatty(1) == 0 || ioctl(1, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

std::string Context::CertificateWarning() const {
  if (!tls.IsTlsWanted()) return "";
  const auto store = common::TlsStore::Open(tls);
  // Connect() reports files that cannot be read.
  if (!store.ok()) return "";
  const auto content = (*store)->Current();
  const absl::Time now = absl::Now();
  if (common::ValidityAt(content->own, now) == common::Validity::kValid) return "";
  return absl::StrCat("your certificate ", common::DescribeExpiry(content->own, now));
}

absl::StatusOr<std::unique_ptr<v1::Controller::Stub>> Context::Connect() const {
  const std::vector<std::string> addresses = absl::StrSplit(controller, ',', absl::SkipEmpty());
  for (const std::string& address : addresses) {
    // All addresses are checked before the first is dialled. Otherwise a mistake in a later one
    // would show only when the earlier controllers are away.
    if (absl::Status status = common::CheckAddress(address); !status.ok()) {
      return absl::Status(status.code(), "--controller " + std::string(status.message()));
    }
    if (tls.IsTlsWanted() || common::IsLoopback(address) || insecure) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(address,
                     " is not on this machine; give --tls-cert, --tls-key and --tls-ca, or "
                     "--insecure-plaintext"));
  }
  if (addresses.empty()) return absl::InvalidArgumentError("--controller '': write HOST:PORT");
  auto credentials = common::ClientCredentials(tls);
  if (!credentials.ok()) return credentials.status();
  std::string why;
  for (const std::string& address : addresses) {
    grpc::ChannelArguments arguments;
    // By default gRPC dials through the proxy that the environment names (http_proxy).
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    // gRPC shares connections, and their pauses after a failure, between channels to one address.
    // With a pool of its own, an address that refused a moment ago is tried again at once.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    // gRPC's default of 4 MiB is too small for the report of a large fleet.
    arguments.SetMaxReceiveMessageSize(static_cast<int>(limits::kReportBytes));
    auto channel = grpc::CreateCustomChannel(address, *credentials, arguments);
    if (common::AwaitConnection(channel.get(), kConnectTime))
      return v1::Controller::NewStub(channel);
    absl::StrAppend(&why, why.empty() ? "" : "; ", address, ": ",
                    common::WhyNotConnected(channel, address, tls.IsTlsWanted()));
  }
  return absl::UnavailableError(absl::StrCat(
      "no controller answers at ", controller, ": ", why,
      ". Start one here with `lockstep up`, or name another with --controller HOST:PORT"));
}

int Fail(const std::string& message) {
  std::cerr << "lockstep: " << common::PrintableLines(message) << "\n";
  return kError;
}
int Fail(const grpc::Status& status) { return Fail(status.error_message()); }
int Fail(const absl::Status& status) { return Fail(std::string(status.message())); }

std::optional<std::string> ReadJobSource(const std::string& path) {
  if (path != "-") {
    auto content = common::ReadFile(path, static_cast<size_t>(limits::kJobBytes));
    if (content.ok()) return *std::move(content);
    Fail(content.status());
    return std::nullopt;
  }
  std::string source;
  char piece[65536];
  // Reading ends beyond the limit. ParseJobFile() then refuses an endless input, before it fills
  // the memory.
  while (source.size() <= static_cast<size_t>(limits::kJobBytes) &&
         std::cin.read(piece, sizeof piece).gcount() > 0) {
    source.append(piece, static_cast<size_t>(std::cin.gcount()));
  }
  return source;
}

std::unique_ptr<JobFile> LoadJobFile(const std::string& path, const std::vector<std::string>& sets,
                                     const TranslateFlags& flags) {
  std::optional<std::string> source = ReadJobSource(path);
  if (!source) return nullptr;
  const std::string name = path == "-" ? "stdin" : path;
  const auto front_end = ChooseFrontEnd({name, *source}, flags.language);
  if (!front_end && flags.IsGiven()) {
    Fail(absl::StrCat(name,
                      ": is a job file, which names its hosts and targets itself; --hosts, "
                      "--directory, --target and --disk are for files of other tools"));
    return nullptr;
  }
  std::vector<std::string> remarks;
  auto file = std::make_unique<JobFile>(
      front_end ? TranslateJob(*front_end, {{name, *std::move(source)}}, flags, sets, &remarks)
                : ParseJobFile(name, *source, sets));
  for (const std::string& remark : remarks) {
    std::cerr << "remark: " << common::Printable(remark) << "\n";
  }
  if (file->errors.empty()) return file;
  for (const std::string& error : file->errors) std::cerr << error << "\n";
  return nullptr;
}

int PrintProblems(const JobFile& file, const grpc::Status& status) {
  v1::Problems problems;
  if (status.error_code() != grpc::StatusCode::INVALID_ARGUMENT ||
      !problems.ParseFromString(status.error_details()) || problems.problems().empty()) {
    return Fail(status);
  }
  for (const v1::Problem& problem : problems.problems()) {
    std::cerr << common::Printable(file.Locate(problem)) << "\n";
  }
  return kInvalidJob;
}

bool AwaitWorkers(v1::Controller::Stub* stub, int count, const std::function<bool()>& over) {
  using Clock = std::chrono::steady_clock;
  // A controller that was suspended takes the call and never answers. With one deadline for all
  // calls, nobody would check `over` during that time.
  constexpr Clock::duration kCallTime = std::chrono::seconds(3);
  constexpr useconds_t kPauseMicroseconds = 50000;
  const Clock::time_point until = Clock::now() + kWorkersTime;
  while (!over() && Clock::now() < until) {
    grpc::ClientContext call;
    call.set_deadline(std::chrono::system_clock::now() + std::min(kCallTime, until - Clock::now()));
    v1::StatusReply reply;
    if (stub->GetStatus(&call, {}, &reply).ok() && reply.workers_size() >= count) return true;
    usleep(kPauseMicroseconds);
  }
  return false;
}

absl::Status ToAbsl(const grpc::Status& status) {
  // gRPC and absl number their status codes alike.
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

absl::Status CheckOutput(const std::string& path) {
  struct stat about;
  // stat(2) follows links, and the names under /dev/disk are links. A mistyped --output must not
  // overwrite a disk.
  const bool is_there = stat(path.c_str(), &about) == 0;
  if (is_there && S_ISBLK(about.st_mode)) {
    return absl::InvalidArgumentError(path + " is a block device; name a file");
  }
  if (is_there && S_ISDIR(about.st_mode)) {
    return absl::InvalidArgumentError(path + " is a directory; name a file");
  }
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (access((is_there ? path : folder).c_str(), W_OK) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": cannot be written: ", common::ErrnoText(errno)));
}

int WriteOutput(const std::string& path, const std::string& content) {
  if (absl::Status fitting = CheckOutput(path); !fitting.ok()) return Fail(fitting);
  std::ofstream file(path, std::ios::binary);
  file << content;
  // A full disk may show only at the flush. The destructor would ignore the error.
  return file.flush() ? kOk
                      : Fail(absl::StrCat(path, ": cannot be written: ", common::ErrnoText(errno)));
}

bool IsInteractive() { return isatty(0) != 0 && isatty(2) != 0; }

bool SaysYes(const std::string& question) {
  std::cerr << question;
  std::string answer;
  // At the end of the input the answer stays empty, which is a no.
  std::getline(std::cin, answer);
  return answer == "yes";
}

std::string UserName() {
  const auto user = common::FindUser(geteuid());
  return user ? user->name : absl::StrCat("uid-", geteuid());
}

}  // namespace lockstep::cli
