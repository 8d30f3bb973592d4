#include "controller/report/histogram_logs.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/histogram.h"
#include "google/protobuf/io/gzip_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

// ------------------------------------------------------------------------------------ HdrHistogram
// G. Tene, HdrHistogram: the layout of counts with subBucketCount 2048 (three digits) and unit
// magnitude 0, and its encoding V2 (HdrHistogram_c, hdr_histogram_log.c).

constexpr int kHalfMagnitude = 10;
constexpr int64_t kHalfCount = int64_t{1} << kHalfMagnitude;
constexpr uint64_t kSubBucketMask = 2 * kHalfCount - 1;
// Readers make room for values up to this one. The overflow bucket stands for 2^kMaxValueBits, so
// one more bit is needed.
constexpr uint64_t kHighest = uint64_t{1} << (common::kMaxValueBits + 1);
constexpr uint32_t kCookie = 0x1c849313;
constexpr uint32_t kCompressedCookie = 0x1c849314;

int64_t CountsIndex(uint64_t value) {
  const int bucket = 64 - __builtin_clzll(value | kSubBucketMask) - (kHalfMagnitude + 1);
  const auto sub = static_cast<int64_t>(value >> bucket);
  return ((int64_t{bucket} + 1) << kHalfMagnitude) + sub - kHalfCount;
}

void AddBigEndian(uint64_t value, int bytes, std::string* out) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(value >> shift));
  }
}

// ZigZag, then groups of seven bits, the ninth byte whole.
void AddZigZag(int64_t number, std::string* out) {
  uint64_t value = (static_cast<uint64_t>(number) << 1) ^ static_cast<uint64_t>(number >> 63);
  for (int byte = 0; byte < 8; ++byte) {
    if (value < 0x80) return out->push_back(static_cast<char>(value));
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

std::string Compressed(const std::string& bytes) {
  std::string out;
  google::protobuf::io::StringOutputStream sink(&out);
  google::protobuf::io::GzipOutputStream::Options options;
  // The encoding wants zlib's header and checksum (RFC 1950), not gzip's.
  options.format = google::protobuf::io::GzipOutputStream::ZLIB;
  google::protobuf::io::GzipOutputStream stream(&sink, options);
  size_t at = 0;
  void* buffer = nullptr;
  int size = 0;
  while (at < bytes.size() && stream.Next(&buffer, &size)) {
    const size_t piece = std::min(bytes.size() - at, static_cast<size_t>(size));
    std::copy_n(bytes.data() + at, piece, static_cast<char*>(buffer));
    at += piece;
    stream.BackUp(size - static_cast<int>(piece));
  }
  stream.Close();
  return out;
}

uint64_t MidpointOf(uint32_t bucket) {
  return static_cast<uint64_t>(common::BucketMidpoint(bucket));
}

std::string EncodeHdr(const v1::LatencyHistogram& histogram) {
  std::map<int64_t, int64_t> counts;
  for (int i = 0; i < histogram.buckets_size(); ++i) {
    counts[CountsIndex(MidpointOf(histogram.buckets(i)))] +=
        static_cast<int64_t>(histogram.counts(i));
  }
  std::string payload;
  int64_t next = 0;
  for (const auto& [index, count] : counts) {
    // A negative number stands for a run of so many empty counts.
    if (index > next) AddZigZag(next - index, &payload);
    AddZigZag(count, &payload);
    next = index + 1;
  }
  std::string encoded;
  AddBigEndian(kCookie, 4, &encoded);
  AddBigEndian(payload.size(), 4, &encoded);
  AddBigEndian(0, 4, &encoded);  // no shift
  AddBigEndian(3, 4, &encoded);  // significant digits
  AddBigEndian(1, 8, &encoded);  // smallest value
  AddBigEndian(kHighest, 8, &encoded);
  AddBigEndian(0x3ff0000000000000, 8, &encoded);  // 1.0, of values to their unit
  const std::string squeezed = Compressed(encoded + payload);
  std::string out;
  AddBigEndian(kCompressedCookie, 4, &out);
  AddBigEndian(squeezed.size(), 4, &out);
  return absl::Base64Escape(out + squeezed);
}

// A comma ends a tag, a line break ends the entry, and tools split at blanks. Names of workloads
// may contain all of these.
std::string TagOf(const v1::LatencyHistogram& histogram) {
  std::string tag = absl::StrCat(histogram.workload(), ".", histogram.kind());
  for (char& c : tag) {
    const auto byte = static_cast<unsigned char>(c);
    if (isalnum(byte) == 0 && c != '.' && c != '-' && c != '_' && byte < 0x80) c = '_';
  }
  return tag;
}

}  // namespace

namespace {

double FirstGo(const std::vector<v1::LatencyHistogram>& histograms) {
  double first = 0;
  for (const v1::LatencyHistogram& h : histograms) {
    if (first == 0 || h.go_seconds() < first) first = h.go_seconds();
  }
  return first;
}

// fio's numbers of the directions.
int DirectionOf(const v1::LatencyHistogram& h) {
  const auto kind = measure::Parse<measure::Operations>(h.kind());
  return kind == measure::Operations::kRead    ? 0
         : kind == measure::Operations::kWrite ? 1
         : kind == measure::Operations::kTrim  ? 2
                                               : -1;
}

}  // namespace

std::string RenderFioLog(const std::vector<v1::LatencyHistogram>& histograms) {
  const double first = FirstGo(histograms);
  std::string out;
  int64_t at = 0;
  std::map<int, std::vector<double>> bins;  // of one interval, by direction
  const auto flush = [&] {
    for (const auto& [direction, counts] : bins) {
      absl::StrAppend(&out, at, ", ", direction, ", 0");
      for (const double count : counts) absl::StrAppend(&out, absl::StrFormat(", %.0f", count));
      out += "\n";
    }
    bins.clear();
  };
  // The histograms come in the order of their intervals. So another end means that the line of the
  // last interval is complete.
  for (const v1::LatencyHistogram& h : histograms) {
    const int direction = DirectionOf(h);
    if (!h.is_reported() || direction < 0) continue;
    const int64_t end = std::llround((h.go_seconds() - first + h.end_seconds()) * 1e3);
    if (end != at) flush();
    at = end;
    std::vector<double>& counts = bins[direction];
    counts.resize(kFioBins);
    for (int i = 0; i < h.buckets_size(); ++i) {
      counts[std::min(h.buckets(i), kFioBins - 1)] += h.counts(i);
    }
  }
  flush();
  return out;
}

std::string RenderHlog(const std::vector<v1::LatencyHistogram>& histograms) {
  const double base = FirstGo(histograms);
  std::string out = absl::StrCat(
      "#[Histograms of Lockstep: latencies in nanoseconds]\n"
      "#[Histogram log format version 1.3]\n",
      absl::StrFormat("#[StartTime: %.3f (seconds since epoch), ", base),
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixMillis(std::llround(base * 1e3)),
                       absl::UTCTimeZone()),
      "]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
      "\"Interval_Compressed_Histogram\"\n");
  for (const v1::LatencyHistogram& h : histograms) {
    if (!h.is_reported() || h.buckets().empty()) continue;
    // Interval_Max is in milliseconds, by the format's convention.
    const double longest = static_cast<double>(MidpointOf(h.buckets(h.buckets_size() - 1))) / 1e6;
    absl::StrAppend(&out, "Tag=", TagOf(h),
                    absl::StrFormat(",%.3f,%.3f,%.6f,", h.go_seconds() - base + h.begin_seconds(),
                                    h.end_seconds() - h.begin_seconds(), longest),
                    EncodeHdr(h), "\n");
  }
  return out;
}

}  // namespace lockstep::controller
