#pragma once

#include <string>
#include <vector>

#include "proto/report.pb.h"

namespace lockstep::controller {

// The observations of an observe phase, for people. A figure that nobody has measured is "–".

// One kind of requests, or all: "device reads", "device writes", "devices".
struct ObservedRow {
  std::string name;
  double per_second = 0;
  double bytes_per_second = 0;
};
// Empty where no device was observed.
std::vector<ObservedRow> RowsOf(const v1::ObservedFigures& figures);

// "3 devices on 2 hosts, 58 % reads: reads of 16 KiB in 1.2 ms, …".
std::string SummaryOf(const v1::ObservedReport& observed);

// The devices' shares of limits that an earlier run measured, a sentence each: at most `max`, and
// the number of the others. Empty where nothing was compared.
std::vector<std::string> ShareSentencesOf(const v1::ObservedReport& observed, int max);

// A table of the hosts, with columns of iostat -x, and one of the devices, as RenderIostat() makes
// it, and one of their layers, as RenderLayers() makes it.
std::string RenderObservedHosts(const v1::ObservedReport& observed, size_t width);
std::string RenderObservedDevices(const v1::PhaseReport& phase, size_t width);

}  // namespace lockstep::controller
