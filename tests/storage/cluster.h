#pragma once

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "storage/embedded.h"

namespace lockstep::storage {

// A private PostgreSQL for all tests of a program; a socket's path must be short, so it lies under
// /tmp.
class Cluster : public testing::Environment {
 public:
  void SetUp() override {
    char path[] = "/tmp/lsstXXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    directory = path;
    ASSERT_EQ(chmod(path, 0755), 0);
    auto started = EmbeddedPostgres::Start(directory + "/pg");
    ASSERT_TRUE(started.ok()) << started.status();
    server = *std::move(started);
  }
  void TearDown() override {
    server.reset();
    nftw(
        directory.c_str(),
        [](const char* file, const struct stat*, int, FTW*) { return remove(file); }, 16,
        FTW_DEPTH | FTW_PHYS);
  }
  std::string directory;
  std::unique_ptr<EmbeddedPostgres> server;
};

}  // namespace lockstep::storage
