// Flags that say where a translated load runs: one that is not used is refused.

#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontends/frontend.h"
#include "gtest/gtest.h"

namespace lockstep::frontends {
namespace {

constexpr char kFio[] = "[a]\nrw=read\nfilename=/data/{host}/a\nsize=1m\n";
constexpr char kSysbench[] = "sysbench --file-total-size=2G fileio prepare\n";
constexpr char kVdbench[] =
    "sd=sd1,lun=/dev/vdb\nwd=w,sd=sd1,xfersize=8k,rdpct=70\n"
    "rd=r,wd=w,iorate=max,elapsed=5,interval=1\n";

Request RequestOf(const std::string& name, const std::string& text) {
  Request request;
  request.files = {{name, text}};
  return request;
}

std::string ErrorsOf(const Request& request) {
  const auto front_end = FindFrontEnd(request.files[0]);
  if (!front_end) return "no language";
  std::string text;
  for (const Message& error : Translate(*front_end, request).errors) {
    absl::StrAppend(&text, MessageText(error), "\n");
  }
  return text;
}

TEST(FlagsTest, AFlagThatTheLanguageHasNoUseForIsRefused) {
  Request vdbench = RequestOf("a.parm", kVdbench);
  EXPECT_EQ(ErrorsOf(vdbench), "");
  vdbench.directory = "/data";
  EXPECT_EQ(ErrorsOf(vdbench),
            "--directory /data: a file of vdbench has no use for it; --disk NAME=PATH puts "
            "something in the place of a disk that it names\n");
  vdbench.directory.clear();
  vdbench.target = "/dev/vdz";
  EXPECT_TRUE(absl::StartsWith(ErrorsOf(vdbench), "--target /dev/vdz: a file of vdbench has"));
  Request fio = RequestOf("a.fio", kFio);
  EXPECT_EQ(ErrorsOf(fio), "");
  fio.disks["a"] = "/dev/vdz";
  EXPECT_EQ(ErrorsOf(fio), "--disk a=/dev/vdz: a file of fio names no disks to replace\n");
  Request sysbench = RequestOf("a.sh", kSysbench);
  sysbench.directory = "/data";
  EXPECT_EQ(ErrorsOf(sysbench), "");
  sysbench.target = "/dev/vdz";
  EXPECT_EQ(ErrorsOf(sysbench), "--target /dev/vdz: a file of sysbench has no use for it\n");
}

TEST(FlagsTest, ADiskThatTheFileDoesNotNameIsRefused) {
  Request request = RequestOf("a.parm", kVdbench);
  for (const char* name : {"sd1", "/dev/vdb"}) {
    request.disks = {{name, "/dev/vdc"}};
    EXPECT_EQ(ErrorsOf(request), "") << name;
  }
  request.disks = {{"sd2", "/dev/vdc"}};
  EXPECT_EQ(ErrorsOf(request),
            "--disk sd2=/dev/vdc: the file has no disk of this name; it has /dev/vdb, sd1\n");
}

}  // namespace
}  // namespace lockstep::frontends
