#pragma once

#include <map>
#include <string>
#include <vector>

#include "measure/timeline.h"
#include "proto/series.pb.h"

namespace lockstep::controller {

// Timelines as columns, with figures of five digits: more than a screen shows.
void AddFleetSeries(const std::vector<measure::FleetPoint>& points, v1::SeriesReply* reply);
// Leaves the devices' figures alone, of a phase without load.
void DropLoad(v1::FleetSeries* fleet);
// `hosts`: names by worker index.
void AddHostSeries(const measure::HostTable& table, const std::map<uint32_t, std::string>& hosts,
                   v1::SeriesReply* reply);
// How many I/Os had which latency, four rows to an octave.
void AddLatencySeries(const std::vector<measure::FleetPoint>& points, v1::SeriesReply* reply);

}  // namespace lockstep::controller
