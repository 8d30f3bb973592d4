// The contract of the store: quarantines, certificates, the secret and stamps.

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "common/ids.h"
#include "gtest/gtest.h"
#include "tests/storage/store_contract.h"

namespace lockstep::storage {
namespace {

TEST_P(StoreContract, WhatALostWorkerMayStillWriteToIsHeldUntilItIsReleased) {
  const std::string run = Start();
  ASSERT_TRUE(store_->SetLost(run, 0, "silent", 0).ok());  // it had nothing
  ASSERT_TRUE(store_->SetLost(run, 1, "silent", 77).ok());
  ASSERT_EQ(Quarantines(run).size(), 1u);
  EXPECT_EQ(Quarantines(run)[0].worker_id, workers_[1].worker_id);
  EXPECT_EQ(Quarantines(run)[0].quarantine_ns, 77);
  EXPECT_EQ(Quarantines(run)[0].job.name(), "contract");
  EXPECT_EQ(Quarantines(run)[0].inspection.targets(0).paths(0), "/dev/sd1");
  // The end of the run changes nothing about it: the worker may be writing all the same.
  ASSERT_TRUE(store_->EndRun(run, {.state = measure::RunState::kAborted}).ok());
  EXPECT_EQ(Quarantines(run).size(), 1u);
  EXPECT_EQ(Active(run).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(store_->ReleaseQuarantine(workers_[1].worker_id).ok());
  EXPECT_TRUE(Quarantines(run).empty());
}

TEST_P(StoreContract, AWorkerThatIsBackHoldsNothing) {
  const std::string run = Start();
  ASSERT_TRUE(store_->SetLost(run, 1, "silent", 77).ok());
  EXPECT_TRUE(Active(run)->workers[1].lost);
  ASSERT_TRUE(store_->SetBack(run, 1).ok());
  EXPECT_FALSE(Active(run)->workers[1].lost);
  EXPECT_TRUE(Quarantines(run).empty());
}

TEST_P(StoreContract, AHostsNameAndIdsBelongToItsCertificate) {
  const auto hello = [](const std::string& host, const std::string& certificate) {
    v1::Hello hello;
    hello.set_worker_id(common::NewUuid());
    hello.mutable_host()->set_host_id(common::NewUuid());
    hello.mutable_host()->set_name(host);
    hello.mutable_host()->set_boot_id("boot");
    hello.set_certificate(certificate);
    return hello;
  };
  const auto owner = [&](const std::string& host) {
    const auto owners = store_->WorkerOwners();
    EXPECT_TRUE(owners.ok()) << owners.status();
    const auto found = std::find_if(owners->begin(), owners->end(),
                                    [&](const WorkerOwner& o) { return o.host == host; });
    return found == owners->end() ? WorkerOwner() : *found;
  };
  const std::string name = "h" + common::NewUuid().substr(0, 8);
  const v1::Hello mine = hello(name, "w2");
  ASSERT_TRUE(store_->RegisterWorker(mine).ok());
  ASSERT_TRUE(store_->RegisterWorker(mine).ok()) << "again, as after a lost answer";
  EXPECT_EQ(owner(name).certificate, "w2");
  EXPECT_EQ(owner(name).host_id, mine.host().host_id());
  // Another certificate, under the name or with an id.
  EXPECT_EQ(store_->RegisterWorker(hello(name, "w1")).code(),
            absl::StatusCode::kFailedPrecondition);
  v1::Hello thief = hello(name + "x", "w1");
  thief.mutable_host()->set_host_id(mine.host().host_id());
  EXPECT_EQ(store_->RegisterWorker(thief).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(owner(name).worker_id, mine.worker_id()) << "and nothing was renamed";
  EXPECT_EQ(owner(name + "x").host, "");
  // New ids of the same certificate and name succeed the old ones, which are nobody's then.
  const v1::Hello fresh = hello(name, "w2");
  ASSERT_TRUE(store_->RegisterWorker(fresh).ok());
  EXPECT_EQ(owner(name).host_id, fresh.host().host_id());
  ASSERT_TRUE(store_->ForgetHost(name).ok());
  EXPECT_EQ(owner(name).host, "");
  EXPECT_TRUE(store_->RegisterWorker(hello(name, "w9")).ok());
  EXPECT_EQ(owner(name).certificate, "w9");
}

TEST_P(StoreContract, TheSecretIsMadeOnce) {
  const std::string fresh(32, 'a');
  const auto first = store_->Secret(fresh);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->size(), 32u);
  const auto other = GetParam().open();
  ASSERT_TRUE(other->AcquireEpoch("other").ok());
  const auto second = other->Secret(std::string(32, 'b'));
  EXPECT_EQ(second.ok() ? *second : std::string(second.status().message()), *first);
}

TEST_P(StoreContract, AStampCountsUntilItIsReleasedOrSucceeded) {
  constexpr int64_t kNow = int64_t{1800000000} * 1000000000;
  const std::string identity = "naa." + common::NewUuid();
  const auto stamp = [&](const std::string& host, int64_t at) {
    return measure::StampRecord{
        common::NewUuid(), identity, identity, host, "/dev/sda", "anna", at, "", 0};
  };
  const auto stamps = [&] {
    std::vector<measure::StampRecord> own;
    const auto all = store_->Stamps();
    EXPECT_TRUE(all.ok()) << all.status();
    std::copy_if(all->begin(), all->end(), std::back_inserter(own),
                 [&](const auto& s) { return s.identity == identity; });
    return own;
  };
  measure::StampRecord first = stamp("node1", kNow);
  measure::StampRecord other = stamp("node1", kNow + 1000);
  other.device_key += "-part1";
  ASSERT_TRUE(store_->AddStamps({first, other}).ok());
  EXPECT_EQ(stamps(), (std::vector<measure::StampRecord>{first, other}));
  // Whatever host enrolled it anew.
  measure::StampRecord second = stamp("node2", kNow + 2000);
  second.enrolled_by = "bert \"b\"";
  ASSERT_TRUE(store_->AddStamps({second}).ok());
  ASSERT_TRUE(store_->AddStamps({second}).ok()) << "again, as after a lost answer";
  first.ended_by = second.enrolled_by;
  first.ended_ns = second.enrolled_ns;
  EXPECT_EQ(stamps(), (std::vector<measure::StampRecord>{first, other, second}));
  ASSERT_TRUE(store_->EndStamps({second.number, first.number}, "carl", kNow + 3000).ok());
  ASSERT_TRUE(store_->EndStamps({second.number}, "dora", kNow + 4000).ok());
  ASSERT_TRUE(store_->EndStamps({}, "dora", kNow + 4000).ok());
  second.ended_by = "carl";
  second.ended_ns = kNow + 3000;
  EXPECT_EQ(stamps(), (std::vector<measure::StampRecord>{first, other, second}));
}

}  // namespace
}  // namespace lockstep::storage
