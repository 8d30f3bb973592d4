#pragma once

#include <cstdint>
#include <string>

#include "google/protobuf/repeated_ptr_field.h"
#include "proto/report.pb.h"
#include "storage/pg.h"

namespace lockstep::storage {

// What reports of phases find, as rows of the table `findings`, in the report's order.
class FindingRows {
 public:
  explicit FindingRows(const std::string& run_id) : run_id_(run_id) {}

  void Add(const v1::PhaseReport& phase);
  const CopyRows& rows() const { return rows_; }

 private:
  using Names = google::protobuf::RepeatedPtrField<std::string>;

  static Names Hosts(const std::string& host);
  void Add(const v1::DeviceReport& device);
  void Row(const std::string& kind, const Names& hosts, const std::string& device);

  const std::string run_id_;
  uint32_t phase_ = 0;
  uint32_t number_ = 0;
  CopyRows rows_;
};

}  // namespace lockstep::storage
