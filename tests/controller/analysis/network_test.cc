// The limits of a load behind a network, by scripted samples.

#include "absl/strings/match.h"
#include "controller/report/network_figures.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

constexpr uint64_t kGigabit = 1000000000;

// Four hosts, ten seconds, whose threads wait for LUNs, and how they reach these.
Stored WithLuns() {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  data.run.job.mutable_targets(0)->mutable_iscsi()->set_url("iscsi://10.0.0.1/x/1");
  for (measure::RunWorker& worker : data.workers) {
    worker.inspection.mutable_targets(0)->clear_device_name();
  }
  for (auto& [worker, samples] : data.intervals) {
    for (v1::IntervalSample& sample : samples) sample.clear_devices();
  }
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    v1::ThreadResult* thread = worker.result.add_threads();
    thread->set_operations(2000);
    thread->set_execution_time_ns(10000000000);
    thread->set_wait_time_ns(9900000000);
    v1::StorageRoute* route = worker.result.add_routes();
    route->add_targets(0);
    route->set_protocol("iscsi");
    route->set_server("10.0.0.1");
    route->add_interfaces("eth0");
    worker.result.set_network_namespace("net:[1]");
  }
  return data;
}

// In each interval of a host eth0 sends so many bytes; a speed of 0 is not known.
void Send(Stored* data, uint32_t host, uint64_t bytes, uint64_t speed,
          const std::string& name = "eth0") {
  for (v1::IntervalSample& sample : data->intervals[host]) {
    v1::InterfaceSample* i = sample.add_interfaces();
    i->set_name(name);
    i->set_sent_bytes(bytes);
    i->set_sent_packets(bytes / 1000);
    i->set_received_bytes(bytes / 100);
    i->set_received_packets(bytes / 10000);
    if (speed == 0) continue;
    i->set_send_speed_bits_per_second(speed);
    i->set_receive_speed_bits_per_second(speed);
  }
}

v1::WorkloadReport LimitOf(const Stored& data) { return ReportOf(data).phases(0).workloads(0); }

TEST(NetworkLimitTest, ALineThatIsFullLimits) {
  Stored data = WithLuns();
  for (uint32_t host = 0; host < 4; ++host) Send(&data, host, 120000000, kGigabit);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.interfaces_size(), 4);
  EXPECT_DOUBLE_EQ(phase.interfaces(0).sent_ratio(), 0.96);
  EXPECT_DOUBLE_EQ(phase.interfaces(0).sent_bytes_per_second(), 120000000);
  EXPECT_EQ(phase.interfaces(0).carries(0), "iscsi 10.0.0.1");
  EXPECT_EQ(phase.workloads(0).limited_by(), "network");
  EXPECT_EQ(phase.workloads(0).limited_because(),
            "on 4 of 4 hosts (node0: eth0 sent at 96 % of its line rate of 1 Gbit/s)");
}

TEST(NetworkLimitTest, ALineThatIsNotFullDoesNot) {
  Stored data = WithLuns();
  for (uint32_t host = 0; host < 4; ++host) Send(&data, host, 110000000, kGigabit);
  const v1::WorkloadReport workload = LimitOf(data);
  EXPECT_EQ(workload.limited_by(), "device");
  EXPECT_TRUE(absl::EndsWith(workload.limited_because(),
                             "; eth0 sent at 88 % of its line rate of 1 Gbit/s"))
      << workload.limited_because();
}

TEST(NetworkLimitTest, OneFullLineOfManyHostsDoesNotLimitTheFleet) {
  Stored data = WithLuns();
  Send(&data, 0, 120000000, kGigabit);
  for (uint32_t host = 1; host < 4; ++host) Send(&data, host, 120000000, 10 * kGigabit);
  EXPECT_EQ(LimitOf(data).limited_by(), "device");
}

TEST(NetworkLimitTest, HostsOfOneNameHaveInterfacesOfTheirOwn) {
  Stored data = WithLuns();
  for (measure::RunWorker& worker : data.workers) worker.host = "node";
  for (uint32_t host = 0; host < 3; ++host) Send(&data, host, 120000000, 10 * kGigabit);
  Send(&data, 3, 120000000, kGigabit);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.interfaces_size(), 4);
  EXPECT_EQ(phase.interfaces(3).workers(0), 3u);
  EXPECT_EQ(phase.workloads(0).limited_by(), "device") << phase.workloads(0).limited_because();
  // The same the other way round: the last host's line is not the others'.
  data = WithLuns();
  for (measure::RunWorker& worker : data.workers) worker.host = "node";
  for (uint32_t host = 0; host < 3; ++host) Send(&data, host, 120000000, kGigabit);
  Send(&data, 3, 120000000, 10 * kGigabit);
  EXPECT_EQ(LimitOf(data).limited_by(), "network");
}

TEST(NetworkLimitTest, AnUnknownSpeedGivesNoShareAndNoVerdict) {
  Stored data = WithLuns();
  for (uint32_t host = 0; host < 4; ++host) Send(&data, host, 2000000000, 0);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_FALSE(phase.interfaces(0).has_sent_ratio());
  EXPECT_FALSE(phase.interfaces(0).has_send_speed_bits_per_second());
  EXPECT_EQ(phase.workloads(0).limited_by(), "device");
  EXPECT_TRUE(absl::EndsWith(phase.workloads(0).limited_because(),
                             "eth0 received 19.1 MiB/s and sent 1.86 GiB/s with 0 dropped "
                             "packets (its line rate is not known)"))
      << phase.workloads(0).limited_because();
  EXPECT_TRUE(
      absl::StrContains(RenderInterfaces(phase, 100), "    eth0: its line rate is not known\n"));
  // Known for a part of the time only.
  data = WithLuns();
  for (uint32_t host = 0; host < 4; ++host) {
    Send(&data, host, 120000000, kGigabit);
    data.intervals[host][5].mutable_interfaces(0)->clear_send_speed_bits_per_second();
  }
  const v1::InterfaceReport part = ReportOf(data).phases(0).interfaces(0);
  EXPECT_FALSE(part.has_sent_ratio());
  EXPECT_EQ(part.no_line_rate(), "its line rate was not known all the time");
}

TEST(NetworkLimitTest, AWorkerSaysWhyAnInterfaceHasNoLineRate) {
  Stored data = WithLuns();
  for (uint32_t host = 0; host < 4; ++host) {
    Send(&data, host, 2000000000, 0);
    data.phases[0].workers[host].result.mutable_routes(0)->add_no_line_rate(
        "a virtual interface (veth) has no line rate of its own");
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_EQ(phase.interfaces(0).no_line_rate(),
            "a virtual interface (veth) has no line rate of its own");
  EXPECT_TRUE(absl::EndsWith(phase.workloads(0).limited_because(),
                             "with 0 dropped packets (a virtual interface (veth) has no line rate "
                             "of its own)"))
      << phase.workloads(0).limited_because();
}

TEST(NetworkLimitTest, ALineThatCarriesMoreThanItsSpeedHasAnotherOne) {
  Stored data = WithLuns();
  for (uint32_t host = 0; host < 4; ++host) Send(&data, host, 400000000, kGigabit);
  v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_FALSE(phase.interfaces(0).has_sent_ratio());
  EXPECT_FALSE(phase.interfaces(0).has_send_speed_bits_per_second());
  EXPECT_FALSE(phase.interfaces(0).has_received_ratio());
  EXPECT_EQ(phase.interfaces(0).no_line_rate(),
            "it carried more than the line rate that the kernel has, 1 Gbit/s");
  EXPECT_EQ(phase.workloads(0).limited_by(), "device") << phase.workloads(0).limited_because();
  // A shaper holds it to another speed in one direction.
  for (auto& [host, samples] : data.intervals) {
    for (v1::IntervalSample& sample : samples) {
      sample.mutable_interfaces(0)->set_receive_speed_bits_per_second(32000000);
    }
  }
  phase = ReportOf(data).phases(0);
  EXPECT_FALSE(phase.interfaces(0).has_sent_ratio());
  EXPECT_DOUBLE_EQ(phase.interfaces(0).received_ratio(), 1);
  EXPECT_EQ(phase.workloads(0).limited_by(), "network");
}

TEST(NetworkLimitTest, AMemberOfABondMayBeFullWhileTheBondIsNot) {
  Stored data = WithLuns();
  for (uint32_t host = 0; host < 4; ++host) {
    Send(&data, host, 120000000, 2 * kGigabit, "bond0");
    Send(&data, host, 120000000, kGigabit, "eth1");
    auto* interfaces = data.phases[0].workers[host].result.mutable_routes(0)->mutable_interfaces();
    interfaces->Clear();
    for (const char* name : {"bond0", "eth1"}) *interfaces->Add() = name;
  }
  EXPECT_EQ(LimitOf(data).limited_by(), "network");
}

TEST(NetworkLimitTest, InterfacesOfOtherTargetsDoNotCount) {
  Stored data = WithLuns();
  data.run.job.add_targets()->set_name("other");
  for (uint32_t host = 0; host < 4; ++host) {
    Send(&data, host, 120000000, kGigabit);
    data.phases[0].workers[host].result.mutable_routes(0)->set_targets(0, 1);
  }
  EXPECT_EQ(LimitOf(data).limited_by(), "device");
}

TEST(NetworkLimitTest, LostPacketsLimitWhileThreadsWait) {
  Stored data = WithLuns();
  for (uint32_t host = 0; host < 4; ++host) Send(&data, host, 1000000, 0);
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.set_tcp_segments(10000);
    worker.result.set_tcp_retransmits(300);
  }
  v1::WorkloadReport workload = LimitOf(data);
  EXPECT_EQ(workload.limited_by(), "network");
  EXPECT_EQ(workload.limited_because(),
            "on 4 of 4 hosts (node0: 3.0 % of the TCP segments were sent again)");
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.set_tcp_retransmits(100);
  }
  EXPECT_EQ(LimitOf(data).limited_by(), "device") << "1 % is not more than the bound";
  for (auto& [host, samples] : data.intervals) {
    for (v1::IntervalSample& sample : samples) sample.mutable_interfaces(0)->set_sent_drops(50);
  }
  EXPECT_TRUE(absl::StrContains(LimitOf(data).limited_because(),
                                "eth0 lost 4.8 % of the packets that it sent"));
  // Threads that did not wait were not held up by it.
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.mutable_threads(worker.result.threads_size() - 1)->set_wait_time_ns(1000000000);
  }
  EXPECT_EQ(LimitOf(data).limited_by(), "not clear");
}

TEST(NetworkLimitTest, RetransmitsOfAWorkerWithoutNetworkStorageSayNothing) {
  Stored data = WithLuns();
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.clear_routes();
    worker.result.set_tcp_segments(10000);
    worker.result.set_tcp_retransmits(5000);
  }
  EXPECT_EQ(LimitOf(data).limited_by(), "device");
}

// The same hosts, with files on NFS.
Stored WithNfs(uint64_t round_trip_ms, uint64_t execution_ms) {
  Stored data = WithLuns();
  data.run.job.mutable_targets(0)->mutable_file()->set_size_bytes(1 << 20);
  for (measure::RunWorker& worker : data.workers) {
    worker.inspection.mutable_targets(0)->set_filesystem("nfs");
  }
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.mutable_routes(0)->set_protocol("nfs");
    worker.result.mutable_routes(0)->set_mount("/mnt/nas");
  }
  for (auto& [host, samples] : data.intervals) {
    for (v1::IntervalSample& sample : samples) {
      v1::NfsSample* n = sample.add_nfs();
      n->set_mount("/mnt/nas");
      n->set_operation("READ");
      n->set_operations(200);
      n->set_transmissions(201);
      n->set_round_trip_ms(200 * round_trip_ms);
      n->set_execution_ms(200 * execution_ms);
    }
  }
  return data;
}

TEST(NetworkLimitTest, NfsTellsItsClientFromWhatIsBehindIt) {
  Stored data = WithNfs(4, 5);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.nfs_size(), 4);
  EXPECT_DOUBLE_EQ(phase.nfs(0).round_trip_ms(), 4);
  EXPECT_DOUBLE_EQ(phase.nfs(0).per_second(), 200);
  EXPECT_DOUBLE_EQ(phase.nfs(0).retransmits(), 10);
  EXPECT_EQ(phase.nfs(0).server(), "10.0.0.1");
  EXPECT_EQ(phase.workloads(0).limited_by(), "server or network");
  EXPECT_EQ(phase.workloads(0).limited_because(),
            "the threads waited in I/O for 99 % of their time; NFS operations took 5 ms on "
            "average, of which 80 % was their way to the server and back");
  // A full line is what the server's replies wait for.
  for (uint32_t host = 0; host < 4; ++host) Send(&data, host, 120000000, kGigabit);
  EXPECT_EQ(LimitOf(data).limited_by(), "network");
}

TEST(NetworkLimitTest, NfsOperationsThatTookNoTimeAreNoEvidence) {
  const v1::WorkloadReport workload = LimitOf(WithNfs(0, 0));
  EXPECT_EQ(workload.limited_by(), "not clear");
  EXPECT_FALSE(absl::StrContains(workload.limited_because(), "nan")) << workload.limited_because();
}

TEST(NetworkLimitTest, AFileSystemsTypeAloneIsNoVerdict) {
  // The operations wait in the client.
  v1::WorkloadReport workload = LimitOf(WithNfs(1, 5));
  EXPECT_EQ(workload.limited_by(), "not clear");
  EXPECT_TRUE(absl::StrContains(workload.limited_because(), "the target lies on nfs"))
      << workload.limited_because();
  Stored data = WithNfs(4, 5);
  for (auto& [host, samples] : data.intervals) {
    for (v1::IntervalSample& sample : samples) sample.clear_nfs();
  }
  EXPECT_EQ(LimitOf(data).limited_by(), "not clear");
}

TEST(NetworkReportTest, WorkersOfOneNamespaceShareItsInterfaces) {
  Stored data = WithLuns();
  for (uint32_t host = 0; host < 4; ++host) {
    data.workers[host].boot_id = "boot";
    Send(&data, host, 1000000, kGigabit);
  }
  data.phases[0].workers[3].result.set_network_namespace("net:[2]");
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.interfaces_size(), 2);
  EXPECT_EQ(phase.interfaces(0).hosts_size(), 3);
  EXPECT_EQ(phase.interfaces(0).carries_size(), 1);
  EXPECT_EQ(phase.interfaces(1).hosts(0), "node3");
}

TEST(NetworkReportTest, WhereSamplesDoNotFitTheReasonIsSaid) {
  Stored data = WithLuns();
  for (uint32_t host = 0; host < 4; ++host) Send(&data, host, 120000000, kGigabit);
  // Ten seconds were measured.
  data.phases[0].workers[0].result.set_sampled_ns(25000000000);
  v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.interfaces_size(), 4);
  const v1::InterfaceReport& i = phase.interfaces(0);
  EXPECT_EQ(i.not_rated(), "the counters are of 25 s, the measured time of 10 s");
  EXPECT_FALSE(i.has_received_bytes_per_second() || i.has_sent_drops() || i.has_sent_ratio());
  EXPECT_EQ(i.no_line_rate(), "");
  EXPECT_EQ(phase.interfaces(1).not_rated(), "");
  EXPECT_TRUE(phase.interfaces(1).has_sent_bytes_per_second());
  const std::string text = RenderInterfaces(phase, 100);
  EXPECT_TRUE(absl::StrContains(
      text, "    eth0: no rates, because the counters are of 25 s, the measured time of 10 s\n"))
      << text;
  // A worker of the same namespace whose samples fit gives the rates.
  for (uint32_t host = 0; host < 2; ++host) data.workers[host].boot_id = "boot";
  phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.interfaces_size(), 3);
  EXPECT_EQ(phase.interfaces(0).hosts_size(), 2);
  EXPECT_EQ(phase.interfaces(0).not_rated(), "");
  EXPECT_TRUE(phase.interfaces(0).has_sent_bytes_per_second());
}

TEST(NetworkReportTest, TablesHaveALineForEachDirection) {
  v1::PhaseReport phase;
  EXPECT_EQ(RenderInterfaces(phase, 100), "");
  EXPECT_EQ(RenderNfs(phase, 100), "");
  v1::InterfaceReport* i = phase.add_interfaces();
  i->set_name("eth0");
  i->add_hosts("node1");
  i->add_hosts("node2");
  i->add_carries("nfs 10.0.0.1");
  i->set_received_bytes_per_second(10 << 20);
  i->set_sent_bytes_per_second(1 << 20);
  i->set_sent_ratio(0.5);
  i->set_send_speed_bits_per_second(16000000);
  i->set_received_drops(0);
  i->set_received_errors(0);
  i->set_sent_drops(3);
  i->set_sent_errors(0);
  i->set_no_line_rate("a virtual interface (veth) has no line rate of its own");
  EXPECT_EQ(RenderInterfaces(phase, 100),
            "    interface  host           MiB/s       of line rate  drops  errors  carries\n"
            "    eth0       node1 + 1  rx   10.0          not known      0       0  nfs 10.0.0.1\n"
            "                          tx    1.0  50 % of 16 Mbit/s      3       0\n"
            "    eth0: a virtual interface (veth) has no line rate of its own\n");
  v1::NfsReport* n = phase.add_nfs();
  n->set_mount("/mnt/nas");
  n->add_hosts("node1");
  n->set_operation("READ");
  n->set_per_second(200);
  n->set_round_trip_ms(4);
  n->set_execution_ms(5.5);
  n->set_queue_ms(0);
  n->set_retransmits(0);
  EXPECT_EQ(RenderNfs(phase, 100),
            "    NFS mount  host   operation  per s   RTT  execution  queue  retrans\n"
            "    /mnt/nas   node1  READ         200  4 ms    5.50 ms      0        0\n");
}

TEST(StragglerTest, AFullLineIsTheCauseOfAStraggler) {
  Stored data = FourHosts([](uint32_t h, uint32_t) { return h == 2 ? 100 : 200; });
  for (uint32_t host = 0; host < 4; ++host) {
    Send(&data, host, 120000000, host == 2 ? kGigabit : 10 * kGigabit);
    // Requests of a device behind a full line take longer, too.
    for (v1::IntervalSample& sample : data.intervals[host]) {
      if (host != 2) continue;
      sample.mutable_devices(0)->set_read_time_ms(10 * sample.devices(0).read_time_ms());
    }
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.stragglers_size(), 1);
  EXPECT_EQ(phase.stragglers(0).cause(), "network");
  EXPECT_EQ(phase.stragglers(0).reason(),
            "its eth0 sent at 96 % of its line rate of 1 Gbit/s, the others' lines were at 10 %");
}

// The straggler of a fleet whose third host is slow from the 6th to the 9th of ten seconds.
v1::Straggler SlowForAPart(Stored* data) {
  const v1::PhaseReport phase = ReportOf(*data).phases(0);
  EXPECT_EQ(phase.stragglers_size(), 1);
  return phase.stragglers_size() == 1 ? phase.stragglers(0) : v1::Straggler();
}

bool IsSlowPart(uint32_t k) { return k >= 4 && k < 9; }

Stored WithASlowPart() {
  return FourHosts([](uint32_t h, uint32_t k) { return h == 2 && IsSlowPart(k) ? 50 : 200; });
}

// Its mean over the phase is 55 %.
TEST(StragglerTest, ALineThatIsFullForAPartIsTheCauseOfThatPart) {
  Stored data = WithASlowPart();
  for (uint32_t host = 0; host < 4; ++host) Send(&data, host, 20000000, kGigabit);
  for (uint32_t k = 0; k < 10; ++k) {
    if (IsSlowPart(k)) data.intervals[2][k].mutable_interfaces(0)->set_sent_bytes(120000000);
  }
  const v1::Straggler found = SlowForAPart(&data);
  EXPECT_EQ(found.begin_seconds(), 4);
  EXPECT_EQ(found.end_seconds(), 9);
  EXPECT_EQ(found.cause(), "network") << found.reason();
  EXPECT_EQ(found.reason(),
            "its eth0 sent at 96 % of its line rate of 1 Gbit/s, 16 % before, the others' lines "
            "were at 16 %");
}

// Its mean over the phase is 94 %.
TEST(StragglerTest, ALineThatIsFullAtAnotherTimeIsNoCause) {
  Stored data = WithASlowPart();
  for (uint32_t host = 0; host < 4; ++host) Send(&data, host, 20000000, kGigabit);
  for (uint32_t k = 0; k < 10; ++k) {
    if (!IsSlowPart(k)) data.intervals[2][k].mutable_interfaces(0)->set_sent_bytes(124000000);
    if (IsSlowPart(k)) data.intervals[2][k].mutable_interfaces(0)->set_sent_bytes(110000000);
  }
  EXPECT_EQ(SlowForAPart(&data).cause(), "not known");
}

// The line itself becomes slower, but for the last second in which the host is: its bytes stay what
// they were.
TEST(StragglerTest, ALineRateThatFallsIsThatOfTheTime) {
  Stored data = WithASlowPart();
  for (uint32_t host = 0; host < 4; ++host) Send(&data, host, 12000000, kGigabit);
  for (uint32_t k = 0; k < 10; ++k) {
    if (!IsSlowPart(k) || k == 8) continue;
    v1::InterfaceSample* line = data.intervals[2][k].mutable_interfaces(0);
    line->set_send_speed_bits_per_second(kGigabit / 10);
    line->set_receive_speed_bits_per_second(kGigabit / 10);
  }
  const v1::Straggler found = SlowForAPart(&data);
  EXPECT_EQ(found.cause(), "network") << found.reason();
  EXPECT_TRUE(absl::StartsWith(found.reason(),
                               "its eth0 sent at 96 % of its line rate of 100 Mbit/s, 10 % before"))
      << found.reason();
  // A speed that is not known all the time gives no share, of a part neither.
  data.intervals[2][0].mutable_interfaces(0)->clear_send_speed_bits_per_second();
  EXPECT_EQ(SlowForAPart(&data).cause(), "not known");
}

// Nothing tells when a count of the whole phase was.
TEST(StragglerTest, SegmentsThatWereSentAgainAreNoCauseOfAPart) {
  Stored data = WithASlowPart();
  const auto send_again = [&] {
    v1::PhaseResult& result = data.phases[0].workers[2].result;
    result.set_tcp_segments(100000);
    result.set_tcp_retransmits(1200);
  };
  send_again();
  EXPECT_EQ(SlowForAPart(&data).cause(), "not known");
  data = FourHosts([](uint32_t h, uint32_t k) { return h == 2 && k > 0 ? 100 : 200; });
  send_again();
  const v1::Straggler found = SlowForAPart(&data);
  EXPECT_EQ(found.cause(), "network") << found.reason();
  EXPECT_EQ(found.reason(),
            "1.2 % of its TCP segments in the whole phase were sent again, of the others' 0.0 %");
}

}  // namespace
}  // namespace lockstep::controller
