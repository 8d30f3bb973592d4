#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

// A directory of this process; removed at its end.
class Directory {
 public:
  Directory() {
    char pattern[] = "/tmp/lsfuzzXXXXXX";
    path_ = mkdtemp(pattern);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};
