// Every key of vdbench's statements is translated, refused by its name and line, or remarked.

#include "frontends/vdbench/keys.h"

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontends/frontend.h"
#include "frontends/vdbench/translate.h"
#include "gtest/gtest.h"

namespace lockstep::frontends::vdbench {
namespace {

// A file with this parameter on its third line, in a statement of the kind.
std::string FileWithParameter(const KindRule& kind, const std::string& parameter) {
  const std::string more = "," + parameter + "\n";
  std::string text;
  switch (kind.kind) {
    case Kind::kGeneral:
      text = absl::StrCat("*\n*\n", parameter, "\nsd=s,lun=/dev/vdb\nwd=w,sd=s\n");
      break;
    case Kind::kHost:
      text = absl::StrCat("*\n*\nhd=h,system=n", more, "sd=s,lun=/dev/vdb\nwd=w,sd=s\n");
      break;
    case Kind::kStorage:
      text = absl::StrCat("*\n*\nsd=s,lun=/dev/vdb", more, "wd=w,sd=s\n");
      break;
    case Kind::kWorkload:
      text = absl::StrCat("*\nsd=s,lun=/dev/vdb\nwd=w,sd=s", more);
      break;
    case Kind::kRun:
      return absl::StrCat("sd=s,lun=/dev/vdb\nwd=w,sd=s\nrd=r,wd=w,iorate=max", more);
    default:
      ADD_FAILURE() << kind.word << " has keys, and no file here";
  }
  return text + "rd=r,wd=w,iorate=max\n";
}

struct SaidOfKey {
  std::string errors, remarks;
};
SaidOfKey SaidOf(const KindRule& kind, const std::string& parameter) {
  Request request;
  request.files = {{"a.vdb", FileWithParameter(kind, parameter)}};
  const Translation translation = TranslateVdbench(request);
  SaidOfKey said;
  for (const Message& each : translation.errors) {
    absl::StrAppend(&said.errors, MessageText(each), "\n");
  }
  for (const Message& each : translation.remarks) {
    absl::StrAppend(&said.remarks, MessageText(each), "\n");
  }
  return said;
}

TEST(VdbenchKeysTest, ARuleSaysWhatBecomesOfItsKey) {
  for (const KindRule& kind : KindRules()) {
    std::set<std::string> keys;
    for (const Rule& rule : kind.keys) {
      EXPECT_TRUE(keys.insert(rule.name).second) << rule.name << " has two rules";
      EXPECT_EQ(*rule.text != '\0', rule.fate != Fate::kTranslated) << rule.name;
    }
  }
}

TEST(VdbenchKeysTest, EachRefusedKeyIsNamedWithItsLineAndItsNeed) {
  int refused = 0;
  for (const KindRule& kind : KindRules()) {
    for (const Rule& rule : kind.keys) {
      if (rule.fate != Fate::kRefused) continue;
      ++refused;
      const std::string parameter = absl::StrCat(rule.name, "=7");
      EXPECT_EQ(SaidOf(kind, parameter).errors,
                absl::StrCat("a.vdb:3: ", parameter, ": cannot be translated; a job would need ",
                             rule.text, "\n"));
      if (*rule.idle == '\0') continue;
      EXPECT_EQ(SaidOf(kind, absl::StrCat(rule.name, "=", rule.idle)).errors, "") << rule.name;
    }
  }
  EXPECT_GE(refused, 35);
}

TEST(VdbenchKeysTest, EachRemarkedKeyIsNamedWithItsLine) {
  int remarked = 0;
  for (const KindRule& kind : KindRules()) {
    for (const Rule& rule : kind.keys) {
      if (rule.fate != Fate::kRemarked) continue;
      ++remarked;
      const std::string parameter = absl::StrCat(rule.name, "=7");
      const SaidOfKey said = SaidOf(kind, parameter);
      EXPECT_EQ(said.errors, "");
      const std::string remark =
          absl::StrCat("a.vdb:3: ", parameter, ": left out; ", rule.text, "\n");
      EXPECT_TRUE(absl::StrContains(said.remarks, remark)) << remark << said.remarks;
    }
  }
  EXPECT_GE(remarked, 15);
}

TEST(VdbenchKeysTest, FilesAreRefusedAsAWhole) {
  for (const KindRule& kind : KindRules()) {
    const bool is_refused = kind.kind == Kind::kFileSystem || kind.kind == Kind::kFileWorkload;
    EXPECT_EQ(kind.keys.empty(), is_refused) << kind.word;
    if (!is_refused) continue;
    Request request;
    request.files = {{"a.vdb", absl::StrCat(kind.word, "=f,depth=1\nrd=r,wd=w,iorate=max\n")}};
    const Translation translation = TranslateVdbench(request);
    ASSERT_FALSE(translation.errors.empty());
    EXPECT_EQ(MessageText(translation.errors[0]),
              absl::StrCat("a.vdb:1: ", kind.word,
                           "=f: cannot be translated; a job would need files, directories and "
                           "operations on them"));
  }
}

}  // namespace
}  // namespace lockstep::frontends::vdbench
