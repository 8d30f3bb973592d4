// How fast jobs may go, when they begin and end, and what ends with them, as their sections say.

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontends/fio/job.h"

namespace lockstep::frontends::fio {
namespace {

constexpr int64_t kDay = 86400 * kSecond;

// Values of one option for each direction, for each clone.
struct Rates {
  double read = 0, write = 0, trim = 0;
  const Option* from = nullptr;
};

Rates ReadRates(const SectionReader& section, const char* name) {
  const Value<std::string> text = section.Text(name, "");
  if (text.from == nullptr || !text.from->has_value) return {};
  const Directions parts = SplitDirections(text.value);
  const auto number = [&](const std::string& part) -> double {
    if (part.empty()) return 0;
    return static_cast<double>(section.BytesOf(*text.from, part).value_or(0));
  };
  return {number(parts.read), number(parts.write), number(parts.trim), text.from};
}

bool IsMix(const Job& job) { return job.reads && job.writes; }

// The rate of a job with one direction.
double OwnRate(const Job& job, const Rates& rates) {
  return job.reads ? rates.read : job.writes ? rates.write : rates.trim;
}

// The lines of one direction: the sum of their weights, and the mean size of their blocks, in
// bytes.
struct Lines {
  double weight = 0, mean_block = 0;
};

Lines LinesOf(const v1::Workload& w, double read_ratio) {
  Lines lines;
  double bytes = 0;
  for (const v1::AccessLine& line : w.access()) {
    if (line.read_ratio() != read_ratio) continue;
    // Sizes of a range are drawn evenly: their mean lies in the middle.
    const int64_t largest = std::max(line.block_size_bytes(), line.up_to_bytes());
    lines.weight += line.weight();
    bytes += line.weight() * static_cast<double>(line.block_size_bytes() + largest) / 2;
  }
  if (lines.weight > 0) lines.mean_block = bytes / lines.weight;
  return lines;
}

// With block sizes for each direction, the lines fix the mix, and limits of both directions would
// change it. Both rates together are a mix and one rate: that of all I/Os.
void JoinLines(const SectionReader& section, const Rates& iops, const Rates& bytes, Job* job) {
  v1::Workload& w = job->workload;
  double all = 0;
  for (const bool is_read : {true, false}) {
    const Lines lines = LinesOf(w, is_read ? 1 : 0);
    if (!(lines.weight > 0)) {
      return section.Fail(*job->rate,
                          "has a rate for a direction that rwmixread gives no I/Os; give the rate "
                          "of the other direction alone");
    }
    // The lower one of two rates of a direction holds.
    double rate = is_read ? iops.read : iops.write;
    const double in_bytes = (is_read ? bytes.read : bytes.write) / lines.mean_block;
    if (!(rate > 0) || (in_bytes > 0 && in_bytes < rate)) rate = in_bytes;
    for (v1::AccessLine& line : *w.mutable_access()) {
      if (line.read_ratio() == (is_read ? 1 : 0)) {
        line.set_weight(line.weight() / lines.weight * rate);
      }
    }
    all += rate;
  }
  job->iops = all;
  job->has_joined_rates = true;
  section.Remark(*job->rate,
                 "with block sizes for each direction both rates decide the share of reads, and "
                 "the sum of their I/Os is the limit");
}

void ReadLimits(const SectionReader& section, const Rates& iops, const Rates& bytes, Job* job) {
  if (!IsMix(*job)) {
    job->iops = OwnRate(*job, iops);
    job->bytes_per_second = OwnRate(*job, bytes);
    job->rate = job->iops > 0 ? iops.from : job->bytes_per_second > 0 ? bytes.from : nullptr;
    job->rate_bytes = bytes.from;
    return;
  }
  const bool reads = iops.read > 0 || bytes.read > 0;
  const bool writes = iops.write > 0 || bytes.write > 0;
  if (!reads && !writes) return;
  job->rate = iops.read > 0 || iops.write > 0 ? iops.from : bytes.from;
  if (reads && writes && !job->workload.access().empty()) {
    return JoinLines(section, iops, bytes, job);
  }
  const auto set = [](double per_second, double bytes_per_second, v1::DirectionLimit* limit) {
    if (per_second > 0) limit->set_iops(per_second);
    if (bytes_per_second > 0) limit->set_throughput_bytes_per_second(bytes_per_second);
  };
  set(iops.read, bytes.read, &job->reads_limit);
  set(iops.write, bytes.write, &job->writes_limit);
}

// Two schedules of arrivals together are one, which draws the direction of each arrival.
void JoinSchedules(const SectionReader& section, const Rates& iops, const Rates& bytes, Job* job) {
  // ReadSchedule() has refused rates in bytes of several sizes: all blocks are of this one.
  const double block = static_cast<double>(job->largest_block);
  const auto each = [&](double per_second, double bytes_per_second) {
    return per_second > 0 ? per_second : bytes_per_second / block;
  };
  const double read = each(iops.read, bytes.read);
  const double write = each(iops.write, bytes.write);
  if (!(read > 0) || !(write > 0)) {
    return section.Refuse(*job->rate, "a schedule of arrivals for one direction of two");
  }
  job->reads_limit.Clear();
  job->writes_limit.Clear();
  job->iops = read + write;
  const double ratio = read / (read + write);
  // A share that the file itself gives keeps its origin.
  if (std::abs(ratio - job->workload.read_ratio()) < 1e-9) return;
  job->workload.set_read_ratio(ratio);
  job->origins["read"] = job->rate->where;
  section.Remark(*job->rate, "decides the share of reads, as in fio");
}

// Random arrivals are a schedule. So is a rate whose I/Os other threads submit: neither waits for
// completions.
const Option* ScheduleOf(const SectionReader& section, Job* job) {
  const Value<std::string> process = section.Text("rate_process", "linear");
  if (process.value != "poisson" && process.value != "linear") {
    section.Fail(*process.from, "is neither linear nor poisson");
  }
  const Value<std::string> mode = section.Text("io_submit_mode", "inline");
  if (mode.value != "inline" && mode.value != "offload") {
    section.Fail(*mode.from, "is neither inline nor offload");
  }
  const bool is_offloaded = mode.value == "offload";
  if (is_offloaded) {
    section.Remark(*mode.from,
                   job->rate == nullptr
                       ? "has no effect without a rate: a thread submits its own I/Os"
                       : "the rate is a schedule of arrivals that no I/O delays; latencies count "
                         "from the instant at which an I/O was due");
  }
  if (process.value == "poisson") return process.from;
  job->arrival = v1::ARRIVAL_FIXED;
  return is_offloaded ? mode.from : nullptr;
}

void ReadSchedule(const SectionReader& section, const Rates& iops, const Rates& bytes, Job* job) {
  const Option* from = ScheduleOf(section, job);
  if (from == nullptr || job->rate == nullptr) return;
  const bool in_bytes = iops.from != job->rate;
  if (in_bytes && !job->has_joined_rates && job->smallest_block != job->largest_block) {
    section.Refuse(*from, "a rate in bytes of blocks of several sizes; give rate_iops");
    return;
  }
  if (IsMix(*job) && !job->has_joined_rates) {
    JoinSchedules(section, iops, bytes, job);
  } else if (job->iops == 0) {
    job->iops = job->bytes_per_second / static_cast<double>(job->largest_block);
  }
  // The schedule has the rate in I/Os. A limit in bytes beside it would be a second one.
  job->bytes_per_second = 0;
  job->has_schedule = true;
  job->origins["open_loop.arrival"] = from->where;
}

// fio looks at the rate after an I/O, at most once in each rate_cycle. A window that holds few I/Os
// would fall below the minimum by the rounding of their number.
int64_t WindowOf(int64_t cycle_ns, double rate, double least, double unit) {
  constexpr double kUnits = 10;
  const double seconds = rate > least ? unit / (rate - least) : kUnits * unit / least;
  const double most = static_cast<double>(kDay) / 1e9;
  const auto whole = static_cast<int64_t>(std::ceil(std::min(seconds, most))) * kSecond;
  return std::min(kDay, std::max({cycle_ns, whole, kSecond}));
}

void ReadLeast(const SectionReader& section, Job* job) {
  const Rates iops = ReadRates(section, "rate_iops_min");
  const Rates bytes = ReadRates(section, "rate_min");
  const Value<int64_t> cycle = section.Time("rate_cycle", TimeUnit::kMilliseconds);
  if (IsMix(*job)) {
    for (const Rates* rates : {&iops, &bytes}) {
      if (rates->read > 0 || rates->write > 0) {
        section.Refuse(*rates->from, "a minimum rate for each direction");
      }
    }
    return;
  }
  job->min_iops = OwnRate(*job, iops);
  job->min_bytes = OwnRate(*job, bytes);
  if (!(job->min_iops > 0) && !(job->min_bytes > 0)) return;
  job->least = job->min_bytes > 0 ? bytes.from : iops.from;
  if (job->min_bytes > job->bytes_per_second && job->bytes_per_second > 0) {
    section.Fail(*bytes.from, "is above the rate, which fio refuses, too");
  }
  if (job->min_iops > job->iops && job->iops > 0) {
    section.Fail(*iops.from, "is above rate_iops, which fio refuses, too");
  }
  const auto block = static_cast<double>(job->largest_block);
  if (job->min_iops > 0) {
    job->min_window_ns = WindowOf(cycle.value, job->iops, job->min_iops, 1);
  }
  if (job->min_bytes > 0) {
    job->min_window_ns = std::max(
        job->min_window_ns, WindowOf(cycle.value, job->bytes_per_second, job->min_bytes, block));
  }
  // A window that is longer than the load would never be judged.
  if (job->runtime.value > 0) {
    job->min_window_ns = std::min(job->min_window_ns, job->runtime.value);
  }
  section.Remark(*job->least, absl::StrCat("ends the run, and not the job alone; it is judged over "
                                           "windows of ",
                                           job->min_window_ns / kSecond, " s"));
}

void ReadThinkTime(const SectionReader& section, Job* job) {
  const Value<int64_t> think = section.Time("thinktime", TimeUnit::kMicroseconds);
  if (think.value == 0) return;
  if (think.value > kDay) section.Fail(*think.from, "is longer than a day");
  // The schedule alone says when an I/O begins.
  if (job->has_schedule) section.Refuse(*think.from, "pauses in a schedule of arrivals");
  job->workload.set_think_time_ns(think.value);
  job->origins["think_time"] = think.from->where;
  const Value<int64_t> every = section.Count("thinktime_blocks", 1, 1 << 30);
  if (every.value <= 1) return;
  job->workload.set_think_every(static_cast<uint32_t>(every.value));
  job->origins["think_every"] = every.from->where;
}

Value<int64_t> ReadDelay(const SectionReader& section) {
  const Value<std::string> text = section.Text("startdelay", "");
  // A dash at the start is a sign.
  if (text.from != nullptr && text.value.find('-', 1) != std::string::npos) {
    section.Refuse(*text.from, "a start delay that is drawn from a range");
    return {};
  }
  return section.Time("startdelay", TimeUnit::kSeconds);
}

void ReadTimes(const SectionReader& section, Job* job) {
  job->delay = ReadDelay(section);
  job->runtime = section.Time("runtime", TimeUnit::kSeconds);
  job->ramp = section.Time("ramp_time", TimeUnit::kSeconds);
  const Value<bool> based =
      section.Flag("time_based", Otherwise::kOff, SectionReader::Bare::kMeansTrue);
  // Otherwise the runtime is a maximum, and the size may end the job before.
  job->time_based = based.value && job->runtime.value > 0;
  if (based.value && !job->time_based) {
    section.Remark(*based.from, "has no effect without a runtime, as in fio");
  }
}

void ReadExit(const SectionReader& section, Job* job) {
  const Value<bool> all = section.Flag("exitall", Otherwise::kOff, SectionReader::Bare::kMeansTrue);
  const Value<std::string> what = section.Text("exit_what", "group");
  if (what.value != "group" && what.value != "stonewall" && what.value != "all") {
    return section.Fail(*what.from, "is none of group, stonewall, all");
  }
  // exit_what says whom exitall ends. Alone it ends nobody.
  if (!all.value) return;
  job->exits = what.from != nullptr ? what.from : all.from;
  job->exit = what.value == "group"       ? Exit::kGroup
              : what.value == "stonewall" ? Exit::kRunning
                                          : Exit::kAll;
}

void ReadPriority(const SectionReader& section, Job* job) {
  const Value<int64_t> level = section.Count("prio", 0, 7);
  const Value<int64_t> kind = section.Count("prioclass", 0, 3);
  if (level.from == nullptr && kind.from == nullptr) return;
  const Option& from = kind.from != nullptr ? *kind.from : *level.from;
  if (job->null_engine || job->iscsi) {
    return section.Remark(from, "has no effect: I/Os of this engine do not pass the block layer");
  }
  v1::IoPriority* priority = job->workload.mutable_io_priority();
  // Without a class fio takes best effort.
  priority->set_class_(kind.value == 1   ? v1::IO_PRIORITY_CLASS_REALTIME
                       : kind.value == 3 ? v1::IO_PRIORITY_CLASS_IDLE
                                         : v1::IO_PRIORITY_CLASS_BEST_EFFORT);
  job->origins["io_priority.class"] = from.where;
  // The kernel ignores the level of the idle class (ioprio_set(2)).
  if (kind.value == 3) return;
  priority->set_level(static_cast<uint32_t>(level.value));
  job->origins["io_priority.level"] = (level.from != nullptr ? *level.from : from).where;
}

// The rates are also checked here, before they are multiplied into the job, so that the message
// names the option.
bool IsBeyondRates(const Job& job, double all) {
  const auto is = [&](double iops, double bytes) {
    return iops * all > 1e12 || bytes * all > 1e16 || (iops > 0 && iops * all < 0.001) ||
           (bytes > 0 && bytes * all < 1);
  };
  return is(job.iops, job.bytes_per_second) || is(job.min_iops, job.min_bytes) ||
         is(job.reads_limit.iops(), job.reads_limit.throughput_bytes_per_second()) ||
         is(job.writes_limit.iops(), job.writes_limit.throughput_bytes_per_second());
}

void SetLimit(const v1::DirectionLimit& limit, double all, const Origin& origin,
              const std::string& field, v1::DirectionLimit* out, Origins* origins) {
  if (limit.iops() > 0) {
    out->set_iops(limit.iops() * all);
    (*origins)[field + ".iops"] = origin;
  }
  if (limit.throughput_bytes_per_second() > 0) {
    out->set_throughput_bytes_per_second(limit.throughput_bytes_per_second() * all);
    (*origins)[field + ".throughput"] = origin;
  }
}

}  // namespace

void ReadPace(const SectionReader& section, Job* job) {
  const Rates iops = ReadRates(section, "rate_iops");
  const Rates bytes = ReadRates(section, "rate");
  ReadTimes(section, job);
  ReadLimits(section, iops, bytes, job);
  ReadSchedule(section, iops, bytes, job);
  ReadLeast(section, job);
  ReadThinkTime(section, job);
  ReadExit(section, job);
  ReadPriority(section, job);
  job->loops = section.Count("loops", 1, 1000000);
  if (job->loops.value == 0) job->loops.value = 1;
  const Amount io_size = ReadAmount(section, "io_size");
  job->io_size = {io_size.bytes, io_size.from};
  job->io_size_share = io_size.share;
  job->operations = section.Count("number_ios", 0, int64_t{1} << 50);
}

void SetRates(const SectionReader& section, const Job& job, double all, v1::Workload* workload,
              const std::string& field, Origins* origins) {
  const Option* from = job.rate != nullptr ? job.rate : job.least;
  if (from == nullptr) return;
  if (IsBeyondRates(job, all)) {
    return section.Fail(*from,
                        "is beyond the rates of a job: up to 1e12 I/Os and 1e16 bytes per second");
  }
  if (job.has_schedule) {
    workload->mutable_open_loop()->set_rate_per_second(job.iops * all);
    workload->mutable_open_loop()->set_arrival(job.arrival);
    (*origins)[field + "open_loop.rate"] = job.rate->where;
  } else if (job.iops > 0) {
    workload->set_max_iops(job.iops * all);
    (*origins)[field + "max_iops"] = job.rate->where;
  }
  if (job.bytes_per_second > 0) {
    workload->set_max_throughput_bytes_per_second(job.bytes_per_second * all);
    (*origins)[field + "max_throughput"] = job.rate_bytes->where;
  }
  if (job.reads_limit.ByteSizeLong() > 0) {
    SetLimit(job.reads_limit, all, job.rate->where, field + "read_limit",
             workload->mutable_read_limit(), origins);
  }
  if (job.writes_limit.ByteSizeLong() > 0) {
    SetLimit(job.writes_limit, all, job.rate->where, field + "write_limit",
             workload->mutable_write_limit(), origins);
  }
  if (job.least != nullptr) {
    v1::MinimumRate* least = workload->mutable_min_rate();
    if (job.min_iops > 0) least->set_iops(job.min_iops * all);
    if (job.min_bytes > 0) least->set_throughput_bytes_per_second(job.min_bytes * all);
    least->set_window_ns(job.min_window_ns);
    (*origins)[absl::StrCat(field, "min_rate.", job.min_bytes > 0 ? "throughput" : "iops")] =
        job.least->where;
  }
  if (all > 1) {
    section.Remark(*from, absl::StrCat("is of each clone in fio; the job has it times ", all,
                                       " for clones and hosts together"));
  }
}

}  // namespace lockstep::frontends::fio
