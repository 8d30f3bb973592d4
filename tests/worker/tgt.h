// A real iSCSI target for unit tests: tgt in user space, with one LUN over a file.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace lockstep::worker {

class Tgt {
 public:
  explicit Tgt(uint64_t bytes) {
    char name[] = "/tmp/lstgtXXXXXX";
    directory_ = mkdtemp(name);
    image_ = directory_ + "/image";
    const int fd = open(image_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
    close(fd);
    port_ = FreePort();
    Start();
  }
  ~Tgt() {
    Kill();
    Run(absl::StrCat("rm -rf ", directory_));
  }

  // Begins, and waits until it serves.
  void Start() {
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int log = open((directory_ + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      dup2(log, 1);
      dup2(log, 2);
      const std::string portal = absl::StrCat("portal=127.0.0.1:", port_);
      execlp("env", "env", Socket().c_str(), "tgtd", "-f", "--iscsi", portal.c_str(), nullptr);
      _exit(127);
    }
    for (int i = 0; i < 500 && !Admin("--op show --mode sys"); ++i) usleep(20000);
    EXPECT_TRUE(Admin(absl::StrCat("--op new --mode target --tid 1 -T ", kName)));
    EXPECT_TRUE(Admin(absl::StrCat("--op new --mode logicalunit --tid 1 --lun 1 -b ", image_)));
    EXPECT_TRUE(
        Admin("--op update --mode logicalunit --tid 1 --lun 1 --params "
              "thin_provisioning=1"));
    EXPECT_TRUE(Admin("--op bind --mode target --tid 1 -I ALL"));
  }
  void Kill() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }

  std::string url() const { return absl::StrCat("iscsi://127.0.0.1:", port_, "/", kName, "/1"); }
  const std::string& image() const { return image_; }

 private:
  static constexpr char kName[] = "iqn.2026-11.test:unit";

  std::string Socket() const { return absl::StrCat("TGT_IPC_SOCKET=", directory_, "/socket"); }
  static bool Run(const std::string& command) { return system(command.c_str()) == 0; }
  bool Admin(const std::string& words) {
    return Run(absl::StrCat(Socket(), " tgtadm --lld iscsi ", words, " > /dev/null 2>> ",
                            directory_, "/log"));
  }
  static int FreePort() {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    close(fd);
    return ntohs(address.sin_port);
  }

  std::string directory_, image_;
  int port_ = 0;
  pid_t process_ = 0;
};

}  // namespace lockstep::worker
