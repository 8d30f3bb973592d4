// Every key of Iometer's files is translated, refused by its line, or remarked.

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontends/frontend.h"
#include "frontends/iometer/config.h"
#include "gtest/gtest.h"

namespace lockstep::frontends::iometer {
namespace {

constexpr char kWholeFile[] = R"(Version 1.1.0
'TEST SETUP ====
'Run Time
	0 0 30
'Default Disk Workers to Spawn
	1
'Default Network Workers to Spawn
	0
'Record Results
	ALL
'Test Type
	NORMAL
'END test setup
'RESULTS DISPLAY ====
'Update Frequency,Update Type
	4,WHOLE_TEST
'END results display
'ACCESS SPECIFICATIONS ====
'Access specification name,default assignment
	mail,NONE
'size,% of size,% reads,% random,delay,burst,align,reply
	4096,100,67,100,0,1,0,0
'END access specifications
'MANAGER LIST ====
'Manager ID, manager name
	1,NODE1
'Manager network address
	10.0.0.1
'Worker
	W1
'Worker type
	DISK
'Default target settings for worker
'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,)"
                              R"(fixed seed value
	8,DISABLED,1,DISABLED,0
'Disk maximum size,starting sector,Data pattern
	8192,0,1
'End default target settings for worker
'Assigned access specs
	mail
'End assigned access specs
'Target assignments
'Target
	sdb
'Target type
	DISK
'End target
'End target assignments
'End worker
'End manager
'END manager list
)";

Translation TranslationOfFile(const std::string& text) {
  Request request;
  request.files = {{"a.icf", text}};
  request.disks = {{"sdb", "/dev/vdb"}};
  return TranslateIometer(request);
}

// The number of the line that begins like this.
int LineOfText(const std::string& text, const std::string& start) {
  const size_t at = text.find(start);
  EXPECT_NE(at, std::string::npos) << start;
  return 1 + static_cast<int>(
                 std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n'));
}

TEST(IometerKeysTest, EachKeyThatIsLeftOutIsRemarkedWithItsLine) {
  const std::string text = kWholeFile;
  const Translation translation = TranslationOfFile(text);
  EXPECT_TRUE(translation.errors.empty()) << MessageText(translation.errors[0]);
  std::string remarks;
  for (const Message& each : translation.remarks) {
    absl::StrAppend(&remarks, MessageText(each), "\n");
  }
  const std::string small = absl::AsciiStrToLower(text);
  const std::string said = absl::AsciiStrToLower(remarks);
  for (const Rule& key : Rules()) {
    if (key.fate != Fate::kRemarked) continue;
    EXPECT_NE(*key.text, '\0') << key.name;
    const int line = LineOfText(small, absl::StrCat("'", key.name));
    EXPECT_TRUE(absl::StrContains(said, absl::StrCat("a.icf:", line, ": ", key.name))) << remarks;
    EXPECT_TRUE(absl::StrContains(remarks, absl::StrCat(": left out; ", key.text, "\n")))
        << remarks;
  }
}

TEST(IometerKeysTest, AnEmptyAddressOfAManagerIsNotWorthARemark) {
  const Translation translation =
      TranslationOfFile(absl::StrReplaceAll(kWholeFile, {{"\t10.0.0.1\n", "\t\n"}}));
  for (const Message& each : translation.remarks) {
    EXPECT_FALSE(absl::StrContains(MessageText(each), "address")) << MessageText(each);
  }
}

TEST(IometerKeysTest, EachRefusedSettingIsNamedWithItsLineAndItsNeed) {
  struct Change {
    const char *from, *to;
  };
  // How a file asks for each of them.
  const std::map<std::string, Change> kChanges = {
      {"worker type", {"'Worker type\n\tDISK", "'Worker type\n\tNETWORK,TCP"}},
      {"target type", {"'Target type\n\tDISK", "'Target type\n\tNETWORK,TCP"}},
      {"test connection rate", {"\t8,DISABLED", "\t8,ENABLED"}},
  };
  for (const Rule& setting : Rules()) {
    if (setting.fate != Fate::kRefused) continue;
    ASSERT_TRUE(kChanges.contains(setting.name)) << setting.name << " has no file here";
    const Change& change = kChanges.at(setting.name);
    const std::string text = absl::StrReplaceAll(kWholeFile, {{change.from, change.to}});
    const Translation translation = TranslationOfFile(text);
    ASSERT_FALSE(translation.errors.empty()) << setting.name;
    const std::string to = change.to;
    const std::string value = to.substr(to.find('\t') + 1);
    const std::string error = MessageText(translation.errors[0]);
    const int line = LineOfText(text, "\t" + value);
    EXPECT_TRUE(absl::StartsWith(error, absl::StrCat("a.icf:", line, ": ", value))) << error;
    EXPECT_TRUE(absl::EndsWith(
        error, absl::StrCat(": cannot be translated; a job would need ", setting.text)))
        << error;
  }
}

TEST(IometerKeysTest, AnUnknownKeyIsNamedWithItsLine) {
  const Translation translation =
      TranslationOfFile(absl::StrReplaceAll(kWholeFile, {{"'Record Results", "'Colour"}}));
  ASSERT_FALSE(translation.errors.empty());
  EXPECT_EQ(MessageText(translation.errors[0]),
            "a.icf:9: Colour: is no key of Iometer at this place");
}

}  // namespace
}  // namespace lockstep::frontends::iometer
