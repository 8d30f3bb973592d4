#include "frontends/findings.h"

#include <string>

#include "gtest/gtest.h"

namespace lockstep::frontends {
namespace {

TEST(FindingsTest, ErrorsStandByFileInTheOrderOfTheFirstAndByLine) {
  Findings findings;
  const auto fail = [&](const char* file, int line) {
    Origin where;
    where.file = file;
    where.line = line;
    findings.Fail(where, "is wrong");
  };
  fail("b", 9);
  fail("a", 7);
  fail("b", 2);
  fail("a", 3);
  fail("b", 5);
  Translation translation;
  findings.MoveTo(&translation);
  std::string order;
  for (const Message& error : translation.errors) {
    order += error.where.file + std::to_string(error.where.line) + " ";
  }
  EXPECT_EQ(order, "b2 b5 b9 a3 a7 ");
}

}  // namespace
}  // namespace lockstep::frontends
