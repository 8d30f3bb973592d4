#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/limits.h"
#include "controller/cli/ssh/connection.h"
#include "gtest/gtest.h"

namespace lockstep::cli {
namespace {

// The ssh program is a script, so that the host can say what it likes.
class SshConnectionTest : public testing::Test {
 protected:
  SshConnectionTest() {
    record_.token = "0123456789abcdef01234567";
    record_.destination = record_.name = "node1";
    std::ofstream(directory_ + "/archive") << "an archive";
  }
  ~SshConnectionTest() override { std::filesystem::remove_all(directory_); }

  absl::Status Install(const std::string& script) {
    const std::string program = directory_ + "/ssh";
    std::ofstream(program) << "#!/bin/sh\necho \"$*\" >> " << directory_ << "/words\n"
                           << "case \"$*\" in *'-O '*) exit 1 ;; esac\n"
                           << script << "\n";
    chmod(program.c_str(), 0755);
    SshConnection::Ports ports;
    ports.program = program;
    ports.is_cancelled = [] { return false; };
    ports.progress = [](const std::string&) {};
    SshConnection::WorkerFiles files;
    files.archive = directory_ + "/archive";
    files.expected_version = "1";
    const absl::Status status = SshConnection(&record_, &records_, ports).Install(files);
    if (!record_.control.empty()) std::filesystem::remove_all(record_.control);
    return status;
  }
  // What the host answers when it is asked for a certificate request.
  absl::StatusOr<std::string> Request(const std::string& script) {
    return Answered(script).RequestCertificate("5ec7e7");
  }
  // A connection to a host that answers so.
  SshConnection Answered(const std::string& script) {
    const std::string program = directory_ + "/ssh";
    std::ofstream(program) << "#!/bin/sh\necho \"$*\" >> " << directory_ << "/words\n"
                           << "tail -c 64 > " << directory_ << "/input\n"
                           << script << "\n";
    chmod(program.c_str(), 0755);
    SshConnection::Ports ports;
    ports.program = program;
    ports.is_cancelled = [] { return false; };
    ports.progress = [](const std::string&) {};
    record_.directory = "/tmp/lockstep-fleet." + record_.token;
    return SshConnection(&record_, &records_, ports);
  }
  std::string Said(const std::string& answer) const {
    return absl::StrCat("echo '", record_.token, " ", answer, "'\n");
  }
  std::string Say(const std::string& answer) const {
    return absl::StrCat("cat > /dev/null; echo '", record_.token, " ", answer, "'");
  }

  static std::string MakeDirectory() {
    char path[] = "/tmp/lockstep-connection-XXXXXX";
    return mkdtemp(path);
  }

  const std::string directory_ = MakeDirectory();
  FleetRecord record_;
  const FleetRecords records_{directory_};
};

TEST_F(SshConnectionTest, TakesTheDirectoryOfItsTokenOnly) {
  const std::string right = "/var/tmp/lockstep-fleet." + record_.token;
  ASSERT_TRUE(Install(Say("directory " + right)).ok());
  EXPECT_EQ(record_.directory, right);
  record_.directory.clear();
  for (const std::string& wrong :
       {std::string("/etc"), "8080:inside:22" + right, "[" + right, right + "/..", "tmp" + right}) {
    EXPECT_FALSE(Install(Say("directory " + wrong)).ok()) << wrong;
    EXPECT_EQ(record_.directory, "");
  }
}

TEST_F(SshConnectionTest, TheHostsOwnWordsAreTheReason) {
  const absl::Status failed = Install(Say("failed /tmp is full \033[31m"));
  EXPECT_NE(failed.message().find("/tmp is full"), std::string::npos) << failed;
  EXPECT_EQ(failed.message().find('\x1b'), std::string::npos) << failed;
}

TEST_F(SshConnectionTest, AShellThatLetsNobodyInTellsSoOnItsOutput) {
  const absl::Status failed = Install("echo 'This account is not available'; exit 1");
  EXPECT_NE(failed.message().find("account is not available"), std::string::npos) << failed;
}

TEST_F(SshConnectionTest, ASocketsPathThatIsTooLongIsNamed) {
  record_.directory = "/" + std::string(100, 'x');
  SshConnection::Ports ports;
  ports.program = "false";
  const auto refused = SshConnection(&record_, &records_, ports)
                           .Forward(SshConnection::Way::kSocket, "127.0.0.1:9640");
  EXPECT_NE(refused.status().message().find("at most 107 bytes"), std::string::npos)
      << refused.status();
}

TEST_F(SshConnectionTest, AnotherWorkerIsRefused) {
  const absl::Status failed = Install(Say("version 2"));
  EXPECT_NE(failed.message().find("worker is 2"), std::string::npos) << failed;
}

TEST_F(SshConnectionTest, AHostThatIsNotReachedHasNoRecord) {
  const absl::Status failed = Install("echo 'Host key verification failed.' >&2; exit 255");
  EXPECT_NE(failed.message().find("its host key is not known"), std::string::npos) << failed;
  EXPECT_TRUE(records_.Load()->empty());
  EXPECT_EQ(record_.control, "");
}

// A command that is killed right then leaves nothing that no record leads to.
TEST_F(SshConnectionTest, TheRecordComesBeforeTheControlDirectory) {
  std::filesystem::create_directory(directory_ + "/fleets");
  std::ofstream(directory_ + "/fleets/0123.999999999.new") << "token 01";
  ASSERT_TRUE(Install("grep -q \"^control $(dirname $(expr \"$*\" : '.*-S \\([^ ]*\\)'))$\" " +
                      directory_ + "/fleets/" + record_.token + " && " +
                      Say("directory /tmp/lockstep-fleet." + record_.token))
                  .ok());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/fleets/0123.999999999.new"));
}

TEST_F(SshConnectionTest, AHostThatPrintsWithoutEndIsLeft) {
  const absl::Status failed = Install("exec yes");
  EXPECT_NE(failed.message().find("prints more than"), std::string::npos) << failed;
}

// The connection stays, and nobody reads what comes through it.
TEST_F(SshConnectionTest, AHostThatPrintsLaterFillsNoDiskHere) {
  ASSERT_TRUE(Install(Say("directory /tmp/lockstep-fleet." + record_.token) +
                      absl::StrCat("; sleep 0.3; yes > ", directory_, "/late"))
                  .ok());
  const std::string late = directory_ + "/late";
  for (int i = 0; i < 200 && (!std::filesystem::exists(late) ||
                              std::filesystem::file_size(late) < limits::kSshFileBytes);
       ++i) {
    absl::SleepFor(absl::Milliseconds(50));
  }
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_EQ(std::filesystem::file_size(late), static_cast<uintmax_t>(limits::kSshFileBytes));
}

TEST_F(SshConnectionTest, ASecondCommandForAHostIsRefused) {
  ASSERT_TRUE(Install(Say("directory /tmp/lockstep-fleet." + record_.token)).ok());
  record_.token = "76543210fedcba9876543210";
  const absl::Status refused = Install("echo reached > " + directory_ + "/reached");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_NE(refused.message().find("lockstep fleet down node1"), std::string::npos) << refused;
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/reached"));
  EXPECT_EQ(records_.Load()->size(), 1u);
  EXPECT_EQ(record_.control, "");
}

// After /tmp was emptied, another user may have made a directory of this name.
TEST_F(SshConnectionTest, AControlDirectoryThatOthersEnterIsNotUsed) {
  std::ofstream(directory_ + "/ssh") << "#!/bin/sh\nexit 0\n";
  chmod((directory_ + "/ssh").c_str(), 0755);
  SshConnection::Ports ports;
  ports.program = directory_ + "/ssh";
  char path[] = "/tmp/lockstep-ssh-XXXXXX";
  record_.control = mkdtemp(path);
  EXPECT_TRUE(SshConnection(&record_, &records_, ports).IsConnected());
  chmod(path, 0770);
  EXPECT_FALSE(SshConnection(&record_, &records_, ports).IsConnected());
  std::filesystem::remove(path);
  std::filesystem::create_directory_symlink(directory_, path);
  EXPECT_FALSE(SshConnection(&record_, &records_, ports).IsConnected());
  std::filesystem::remove(path);
}

TEST_F(SshConnectionTest, ARequestIsWhatTheHostMarksAsSuch) {
  const auto request = Request("echo Welcome\n" + Said("csr -----BEGIN") + "echo noise\n" +
                               Said("csr END-----") + Said("requested"));
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(*request, "-----BEGIN\nEND-----\n");
}

TEST_F(SshConnectionTest, TheChallengeGoesOverStandardInput) {
  ASSERT_TRUE(Request(Said("csr x") + Said("requested")).ok());
  const auto read = [&](const char* name) {
    std::ifstream file(directory_ + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_NE(read("/input").find("\n5ec7e7\n"), std::string::npos);
  EXPECT_EQ(read("/words").find("5ec7e7"), std::string::npos);
}

TEST_F(SshConnectionTest, TheDoctorsReportIsWhatTheHostMarksAsSuch) {
  const auto answer =
      Answered("echo Welcome\n" + Said("report {\"exitStatus\": 1}") + "echo '{}'").RunDoctor({});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->report, "{\"exitStatus\": 1}");
  EXPECT_EQ(answer->unanswered, "");
}

TEST_F(SshConnectionTest, AReportIsLargerThanOtherAnswers) {
  const auto answer = Answered("printf '" + record_.token +
                               " report ' && head -c 500000 /dev/zero | tr '\\0' x && echo")
                          .RunDoctor({});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->report.size(), 500000u);
}

TEST_F(SshConnectionTest, ADoctorThatDoesNotAnswerIsNoErrorOfTheConnection) {
  const auto hangs = Answered(Said("unanswered it hangs \033[31m")).RunDoctor({});
  ASSERT_TRUE(hangs.ok()) << hangs.status();
  EXPECT_EQ(hangs->report, "");
  EXPECT_EQ(hangs->unanswered.find("it hangs"), 0u) << hangs->unanswered;
  EXPECT_EQ(hangs->unanswered.find('\x1b'), std::string::npos);
  const auto silent = Answered("exit 0").RunDoctor({});
  ASSERT_TRUE(silent.ok()) << silent.status();
  EXPECT_EQ(silent->unanswered, "the host sends no report");
  EXPECT_TRUE(absl::IsUnavailable(Answered("echo lost >&2; exit 255").RunDoctor({}).status()));
}

TEST_F(SshConnectionTest, TheDoctorsFlagsGoOverStandardInput) {
  ASSERT_TRUE(Answered(Said("report {}")).RunDoctor({"--allow", "/secret place"}).ok());
  const auto read = [&](const char* name) {
    std::ifstream file(directory_ + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_NE(read("/input").find("\n2\n--allow\n/secret place\n"), std::string::npos);
  EXPECT_EQ(read("/words").find("secret"), std::string::npos);
}

TEST_F(SshConnectionTest, ARenewalIsDoneWhenTheHostSaysSo) {
  const std::string pem = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
  EXPECT_TRUE(Answered(Said("renewed")).Renew(pem).ok());
  const absl::Status silent = Answered("exit 0").Renew(pem);
  EXPECT_TRUE(absl::IsInternal(silent)) << silent;
  const absl::Status failed = Answered(Said("failed no space") + "exit 1").Renew(pem);
  EXPECT_NE(failed.message().find("no space"), std::string::npos) << failed;
}

TEST_F(SshConnectionTest, AHostThatSendsSomethingElseIsRefused) {
  const auto why = [&](const std::string& script) {
    return std::string(Request(script).status().message());
  };
  for (const std::string& script :
       {std::string("exit 0"), std::string("echo csr x"), Said("requested"), Said("csr x")}) {
    EXPECT_NE(why(script).find("something else than a certificate request"), std::string::npos)
        << script;
  }
  EXPECT_NE(why("echo '" + record_.token + " csr '\"$(head -c 9000 /dev/zero | tr '\\0' x)\"\n" +
                Said("requested"))
                .find("more than 8192 bytes"),
            std::string::npos);
  EXPECT_NE(why(Said("failed no space") + "exit 1").find("no space"), std::string::npos);
  EXPECT_NE(why("echo lost >&2; exit 255").find("lost"), std::string::npos);
}

TEST_F(SshConnectionTest, SshChecksHostKeysAndGivesNothingAway) {
  ASSERT_FALSE(Install("exit 255").ok());
  std::ifstream file(directory_ + "/words");
  std::string words;
  std::getline(file, words);
  EXPECT_EQ(words.find("StrictHostKeyChecking"), std::string::npos) << words;
  for (const char* part : {"BatchMode=yes", "ForwardAgent=no", "ForwardX11=no",
                           "ClearAllForwardings=yes", "-- node1 sh -c "}) {
    EXPECT_NE(words.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace lockstep::cli
