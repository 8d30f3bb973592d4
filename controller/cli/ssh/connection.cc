#include "controller/cli/ssh/connection.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/embedded_file.h"
#include "common/files.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/text.h"
#include "controller/cli/ssh/scripts.h"

namespace lockstep::cli {
namespace {

constexpr int kConnectSeconds = 15;
// sockaddr_un(7), without the zero at its end.
constexpr size_t kSocketPathBytes = 107;
constexpr absl::Duration kInstallLimit = absl::Minutes(5);
constexpr absl::Duration kForwardLimit = absl::Seconds(20);
constexpr absl::Duration kRequestLimit = absl::Seconds(20);
// From the worker's files to its arguments: the supervisor gives up after it. Within it the doctor
// may take 40 s, the certificate 40 s and the forwarded port 20 s.
constexpr int kStartSeconds = 120;

std::string Script(const std::string& name) {
  for (const common::EmbeddedFile& file : RemoteScripts()) {
    if (file.name == name) return file.content;
  }
  return "";
}

// The command of a session. The user's login shell reads it, which may be of any kind, so that it
// is one short line with single quotes. A shell that reads a script from its standard input may
// read more than the script: dd(1) takes exactly so many bytes, and leaves the rest to the script.
std::string Command(const std::string& script) {
  return absl::StrCat("sh -c 'eval \"$(dd bs=1 count=", script.size(), " 2>/dev/null)\"'");
}

std::string Lines(const std::vector<std::string>& lines) {
  std::string text = absl::StrCat(lines.size(), "\n");
  for (const std::string& line : lines) absl::StrAppend(&text, line, "\n");
  return text;
}

// The same of a text that has several lines.
std::string LinesOf(const std::string& text) {
  return Lines(absl::StrSplit(text, '\n', absl::SkipEmpty()));
}

// The host says this, and it becomes part of what ssh is told to forward ("PATH:HOST:PORT", with
// brackets and backslashes) and of a line of a record.
bool IsDirectoryOf(const std::string& directory, const std::string& token) {
  return directory.starts_with('/') && directory.ends_with("/lockstep-fleet." + token) &&
         directory.find_first_of(":[]\\\n") == std::string::npos;
}

constexpr char kControlPrefix[] = "/tmp/lockstep-ssh-";

// A record outlives what it names: when /tmp was emptied since, another user may have made a
// directory of this name. ssh would hand this user's commands to whoever listens in it.
bool IsOwnControl(const std::string& path) {
  struct stat facts;
  return path.starts_with(kControlPrefix) && path.find('/', 5) == std::string::npos &&
         lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
         (facts.st_mode & 077) == 0;
}

// The last line that is not empty: ssh's reason comes after the host's banner.
std::string LastLine(const std::string& text) {
  std::string last;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    const std::string trimmed(absl::StripAsciiWhitespace(line));
    if (!trimmed.empty()) last = trimmed;
  }
  return last;
}

}  // namespace

// The user's own configuration holds: names, jump hosts, keys, agents, known hosts. These options
// take away what a session without a person and without a terminal cannot use or must not give to a
// host: questions, its agent, its display, forwardings and commands that are meant for logins.
std::vector<std::string> SshConnection::Connect() const {
  std::vector<std::string> words = {ports_.program};
  if (!record_->config.empty()) words.insert(words.end(), {"-F", record_->config});
  for (const std::string& option :
       {std::string("BatchMode=yes"), absl::StrCat("ConnectTimeout=", kConnectSeconds),
        std::string("ServerAliveInterval=15"), std::string("ServerAliveCountMax=4"),
        std::string("ForwardAgent=no"), std::string("ForwardX11=no"),
        std::string("ClearAllForwardings=yes"), std::string("PermitLocalCommand=no"),
        std::string("RemoteCommand=none"), std::string("RequestTTY=no"), std::string("Tunnel=no"),
        std::string("EscapeChar=none"), std::string("LogLevel=ERROR")}) {
    words.insert(words.end(), {"-o", option});
  }
  return words;
}

// A session over the control connection. It needs nothing of the user's configuration, which could
// add forwardings to it. Without the connection it must fail, and not dial past the configuration.
std::vector<std::string> SshConnection::Share() const {
  return {ports_.program,
          "-F",
          "none",
          "-S",
          absl::StrCat(record_->control, "/c"),
          "-o",
          "ProxyCommand=false",
          "-o",
          "BatchMode=yes",
          "-o",
          "LogLevel=ERROR"};
}

bool SshConnection::IsConnected() const {
  if (!IsOwnControl(record_->control)) return false;
  std::vector<std::string> words = Share();
  words.insert(words.end(), {"-O", "check", "--", record_->destination});
  const auto checked = RunProcess(words, {}, absl::Seconds(5), nullptr);
  return checked.ok() && checked->status == 0;
}

void SshConnection::CloseControl() {
  // A record names a directory to remove: only one that Install() makes.
  if (IsOwnControl(record_->control)) {
    std::vector<std::string> words = Share();
    words.insert(words.end(), {"-O", "exit", "--", record_->destination});
    (void)RunProcess(words, {}, absl::Seconds(5), nullptr);
    std::error_code ignored;
    std::filesystem::remove_all(record_->control, ignored);
  }
  record_->control.clear();
}

std::optional<std::string> SshConnection::Answer(const std::string& text,
                                                 const std::string& key) const {
  // Lines without the token are the host's own: a banner, or output of the shell's start-up files.
  const std::string begin = absl::StrCat(record_->token, " ", key);
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    if (line == begin) return "";
    if (line.starts_with(begin + " ")) {
      return common::Printable(line.substr(begin.size() + 1), 400);
    }
  }
  return std::nullopt;
}

std::string SshConnection::WhyNot(const std::string& errors) const {
  const std::string last = LastLine(errors);
  if (absl::StrContains(errors, "Host key verification failed")) {
    return absl::StrCat("its host key is not known, or has changed; connect once with `ssh ",
                        record_->destination, "`, and compare the key");
  }
  if (absl::StrContains(errors, "Permission denied")) {
    return absl::StrCat(common::Printable(last, 300), "; `ssh ", record_->destination,
                        "` must work without a question (a key, or an agent)");
  }
  return last.empty() ? "the connection ended without a reason" : common::Printable(last, 400);
}

absl::Status SshConnection::Install(const WorkerFiles& files) {
  // In /tmp, because the path of a socket has at most 107 bytes and a state directory may be deep.
  // Not the token: everybody here can read ssh's arguments.
  record_->control = absl::StrCat(kControlPrefix, absl::StrFormat("%016x", common::RandomSeed()));
  // From the first directory here and the first byte there, the record leads to what may be there.
  if (absl::Status added = records_->Add(*record_); !added.ok()) {
    record_->control.clear();
    return added;
  }
  if (mkdir(record_->control.c_str(), 0700) != 0) {
    const absl::Status made = common::ErrnoStatus(errno, record_->control);
    record_->control.clear();
    (void)records_->Remove(*record_);
    return made;
  }
  ports_.progress("connecting");
  const std::string supervisor = Script("supervise.sh");
  ProcessInput input;
  input.text =
      absl::StrCat(Script("install.sh"), record_->token, "\n", files.directory, "\n",
                   files.need_kib, "\n", kStartSeconds, "\n", Lines(record_->allow),
                   std::count(supervisor.begin(), supervisor.end(), '\n'), "\n", supervisor);
  input.path = files.archive;
  bool is_connected = false;
  absl::Status status = AwaitInstalled(files, std::move(input), &is_connected);
  if (status.ok() || is_connected) return status;
  CloseControl();
  (void)records_->Remove(*record_);
  return status;
}

absl::Status SshConnection::AwaitInstalled(const WorkerFiles& files, ProcessInput input,
                                           bool* is_connected) {
  std::vector<std::string> words = Connect();
  words.insert(words.end(), {"-M", "-S", record_->control + "/c", "-o", "ControlPersist=no", "--",
                             record_->destination, Command(Script("install.sh"))});
  const std::string out = record_->control + "/out";
  const std::string err = record_->control + "/err";
  auto session = StartedProcess::Start(words, out, err);
  if (!session.ok()) return session.status();
  const auto give_up = [&](absl::Status why) {
    session->Kill();
    return why;
  };
  const absl::Time until = absl::Now() + kInstallLimit;
  while (true) {
    if (absl::Status fed = session->Feed(&input); !fed.ok()) return give_up(fed);
    // Asked before the answer is read, so that nothing that was printed is missed.
    const bool ended = session->HasEnded();
    const auto text = common::ReadFile(out, static_cast<size_t>(limits::kSshAnswerBytes));
    if (absl::IsResourceExhausted(text.status())) {
      return give_up(absl::FailedPreconditionError(
          absl::StrCat("the host prints more than ", limits::kSshAnswerBytes,
                       " bytes; look at its shell's start-up files")));
    }
    const std::string said = text.ok() ? *text : "";
    // ssh makes the control socket only when the host has let it in.
    if (!*is_connected && (!said.empty() || access((record_->control + "/c").c_str(), F_OK) == 0)) {
      *is_connected = true;
      ports_.progress("copying the worker");
    }
    if (const auto why = Answer(said, "failed")) return absl::FailedPreconditionError(*why);
    const auto version = Answer(said, "version");
    if (version && *version != files.expected_version) {
      return give_up(absl::FailedPreconditionError(
          absl::StrCat("the archive's worker is ", *version, ", and this is ",
                       files.expected_version, "; make it anew with tools/package")));
    }
    if (const auto directory = Answer(said, "directory")) {
      if (!IsDirectoryOf(*directory, record_->token)) {
        return give_up(
            absl::InternalError("the host answers with something else than a directory"));
      }
      record_->directory = *directory;
      return records_->Save(*record_);
    }
    if (ended) {
      const auto errors = common::ReadFile(err, static_cast<size_t>(limits::kSshAnswerBytes));
      // A shell that lets nobody in, say, tells so on its standard output.
      return absl::UnavailableError(
          WhyNot(errors.ok() && !LastLine(*errors).empty() ? *errors : said));
    }
    if (ports_.is_cancelled()) return give_up(absl::CancelledError("cancelled"));
    if (absl::Now() > until) {
      return give_up(absl::DeadlineExceededError("copying the worker takes longer than 5 minutes"));
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
}

absl::StatusOr<std::string> SshConnection::Forward(Way way, const std::string& controller) {
  if (way == Way::kDirect) return controller;
  const std::string socket = record_->directory + "/controller.sock";
  if (way == Way::kSocket && socket.size() > kSocketPathBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat(common::Printable(socket, 300), ": the path of a socket has at most ",
                     kSocketPathBytes, " bytes; --remote-directory names another directory"));
  }
  std::vector<std::string> words = Share();
  words.insert(words.end(),
               {"-O", "forward", "-R",
                absl::StrCat(way == Way::kSocket ? socket : "127.0.0.1:0", ":", controller), "--",
                record_->destination});
  // With port 0 the host's sshd takes a free port, and ssh prints its number.
  const auto done = RunProcess(words, {}, kForwardLimit, ports_.is_cancelled);
  if (!done.ok()) return done.status();
  if (done->status != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("its sshd forwards no ", way == Way::kSocket ? "socket" : "port", " (",
                     common::Printable(LastLine(done->err), 200), "; AllowTcpForwarding and ",
                     "AllowStreamLocalForwarding in sshd_config); --way chooses another way"));
  }
  if (way == Way::kSocket) return "unix:" + socket;
  uint32_t port = 0;
  if (!absl::SimpleAtoi(done->out, &port) || port == 0 || port > 65535) {
    return absl::InternalError("ssh does not say which port it forwards");
  }
  return absl::StrCat("127.0.0.1:", port);
}

absl::StatusOr<std::string> SshConnection::RunScript(const std::string& script,
                                                     const std::string& input, absl::Duration limit,
                                                     size_t max_bytes) {
  const bool shares = IsConnected();
  std::vector<std::string> words = shares ? Share() : Connect();
  // The configuration may want a control connection of its own, which would stay after this.
  if (!shares) words.insert(words.end(), {"-S", "none"});
  words.insert(words.end(), {"-T", "--", record_->destination, Command(script)});
  // The script has its own limit; this is for a host that says nothing any more.
  const auto done =
      RunProcess(words, {absl::StrCat(script, input), ""},
                 limit + absl::Seconds(kConnectSeconds + 5), ports_.is_cancelled, max_bytes);
  if (!done.ok()) return done.status();
  if (const auto why = Answer(done->out, "failed")) return absl::FailedPreconditionError(*why);
  if (done->status != 0) return absl::UnavailableError(WhyNot(done->err));
  return done->out;
}

absl::StatusOr<SshConnection::DoctorAnswer> SshConnection::RunDoctor(
    const std::vector<std::string>& flags) {
  ports_.progress("checking the host");
  constexpr absl::Duration kLimit = absl::Nanoseconds(limits::kSshDoctorNs);
  // The host's start-up files may print, too.
  constexpr auto kMaxBytes = static_cast<size_t>(limits::kSshDoctorBytes + limits::kSshAnswerBytes);
  const auto said = RunScript(
      Script("doctor.sh"),
      absl::StrCat(record_->token, "\n", record_->directory, "\n", absl::ToInt64Seconds(kLimit),
                   "\n", limits::kSshDoctorBytes, "\n", Lines(flags)),
      kLimit, kMaxBytes);
  if (!said.ok()) return said.status();
  if (const auto why = Answer(*said, "unanswered")) return DoctorAnswer{"", *why};
  const std::string begin = absl::StrCat(record_->token, " report ");
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(*said, '\n'))) {
    if (line.starts_with(begin)) return DoctorAnswer{line.substr(begin.size()), ""};
  }
  return DoctorAnswer{"", "the host sends no report"};
}

absl::StatusOr<std::string> SshConnection::RequestCertificate(const std::string& challenge,
                                                              Key key) {
  ports_.progress("requesting a certificate");
  const auto said =
      RunScript(Script("request.sh"),
                absl::StrCat(record_->token, "\n", record_->directory, "\n", challenge, "\n",
                             key == Key::kFirst ? "tls" : "tls.new", "\n"),
                kRequestLimit);
  if (!said.ok()) return said.status();
  const std::string begin = absl::StrCat(record_->token, " csr ");
  std::string request;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(*said, '\n'))) {
    if (line.starts_with(begin)) absl::StrAppend(&request, line.substr(begin.size()), "\n");
  }
  if (request.size() > static_cast<size_t>(limits::kCsrBytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("its certificate request has more than ", limits::kCsrBytes, " bytes"));
  }
  if (request.empty() || !Answer(*said, "requested")) {
    return absl::InvalidArgumentError(
        "the host answers with something else than a certificate "
        "request");
  }
  return request;
}

absl::Status SshConnection::Renew(const std::string& certificate) {
  ports_.progress("renewing the certificate");
  const auto said =
      RunScript(Script("renew.sh"),
                absl::StrCat(record_->token, "\n", record_->directory, "\n", LinesOf(certificate)),
                kRequestLimit);
  if (!said.ok()) return said.status();
  if (Answer(*said, "renewed")) return absl::OkStatus();
  return absl::InternalError("the host did not say that the worker has the new certificate");
}

absl::Status SshConnection::StartWorker(const Certificate& certificate,
                                        const std::vector<std::string>& arguments,
                                        absl::Duration limit) {
  ports_.progress("starting the worker");
  return RunScript(Script("start.sh"),
                   absl::StrCat(record_->token, "\n", record_->directory, "\n",
                                absl::ToInt64Seconds(limit), "\n", LinesOf(certificate.certificate),
                                LinesOf(certificate.authority), Lines(arguments)),
                   limit)
      .status();
}

absl::StatusOr<SshConnection::Removed> SshConnection::Remove(absl::Duration limit) {
  const auto said =
      RunScript(Script("stop.sh"),
                absl::StrCat(record_->token, "\n", record_->directory, "\n",
                             absl::ToInt64Seconds(limit), "\n", Lines(record_->allow)),
                limit);
  if (!said.ok()) {
    // A connection without an answer is of no use, and the next attempt makes a new one.
    CloseControl();
    (void)records_->Save(*record_);
    return said.status();
  }
  // The record stays, so that `fleet down` can try again.
  if (const auto left = Answer(*said, "left")) {
    return absl::FailedPreconditionError(absl::StrCat("not everything is removed: ", *left));
  }
  Removed removed;
  removed.was_gone = Answer(*said, "gone").has_value();
  if (!removed.was_gone && !Answer(*said, "removed")) {
    return absl::InternalError("the host did not say that everything is removed");
  }
  const std::string target = absl::StrCat(record_->token, " target ");
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(*said, '\n'))) {
    if (line.starts_with(target)) {
      removed.targets.push_back(common::Printable(line.substr(target.size())));
    }
  }
  CloseControl();
  // A command that is killed before the certificate is revoked leaves the record, too.
  const absl::Status kept =
      record_->serial.empty() ? records_->Remove(*record_) : records_->Save(*record_);
  if (!kept.ok()) return kept;
  return removed;
}

absl::Status SshConnection::Forget() {
  CloseControl();
  return records_->Remove(*record_);
}

}  // namespace lockstep::cli
