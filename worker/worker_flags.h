#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "common/files.h"
#include "common/tls.h"

namespace lockstep::worker {

// The flags of lockstep-worker, with their defaults.
struct Flags {
  std::vector<std::string> controllers{"127.0.0.1:9640"};
  std::vector<std::string> allow;
  std::vector<std::string> allow_expendable;
  bool allow_enroll = false;
  std::vector<std::string> allow_settings;
  std::vector<std::string> approve_labels;
  std::string observe = "allowed";
  std::vector<std::string> adopt;
  std::string doctor;  // empty, all or host
  bool doctor_json = false;
  std::string iscsi_initiator;
  std::string iscsi_secrets;
  std::string state_directory = common::DefaultStateDirectory() + "/worker";
  std::string name;
  std::vector<std::string> labels;
  common::TlsFiles tls;
  std::string key_directory;  // of --request-certificate
  bool insecure = false;
  uint32_t simulate = 0;
  std::vector<uint64_t> simulate_iops{1000, 10000, 50000};
  size_t outbox_memory_mib = 64;
  uint64_t outbox_disk_mib = 4096;
  int64_t end_when_alone_s = 0;
  bool restore_settings = false;
};

// Adds the flags to the command line, which sets `flags` when it is parsed.
void AddFlags(CLI::App* app, Flags* flags);

}  // namespace lockstep::worker
