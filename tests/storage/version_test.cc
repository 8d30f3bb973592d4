// The number that `--version --json` says is that of the schema.

#include "common/version.h"

#include <algorithm>
#include <cstdlib>

#include "gtest/gtest.h"
#include "storage/schema_files.h"

namespace lockstep::storage {
namespace {

TEST(VersionTest, TheSchemaIsThatOfTheNewestMigration) {
  int newest = 0;
  for (const common::EmbeddedFile& file : SchemaFiles()) {
    newest = std::max(newest, atoi(file.name.c_str()));
  }
  EXPECT_EQ(common::kSchemaVersion, newest);
}

}  // namespace
}  // namespace lockstep::storage
