#include "web/compression.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/gzip_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace lockstep::web {
namespace {

// A smaller answer fits into one packet either way.
constexpr size_t kMinBytes = 1024;
// Beyond this size a fast level: the controller may share its processors with a measurement. Level
// 6 takes some 30 ms for a megabyte of numbers, level 1 less than half of that.
constexpr size_t kQuickBytes = 256 << 10;

}  // namespace

std::string Gzip(absl::string_view text, int level) {
  namespace io = google::protobuf::io;
  std::string compressed;
  {
    io::StringOutputStream sink(&compressed);
    io::GzipOutputStream::Options options;
    options.format = io::GzipOutputStream::GZIP;
    options.compression_level = level;
    io::GzipOutputStream zipped(&sink, options);
    io::CodedOutputStream(&zipped).WriteRaw(text.data(), static_cast<int>(text.size()));
  }
  return compressed;
}

bool AcceptsGzip(absl::string_view accept_encoding) {
  for (const absl::string_view part : absl::StrSplit(accept_encoding, ',')) {
    const std::pair<absl::string_view, absl::string_view> coding =
        absl::StrSplit(part, absl::MaxSplits(';', 1));
    if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(coding.first), "gzip")) continue;
    absl::string_view weight = absl::StripAsciiWhitespace(coding.second);
    double number = 1;
    // A weight of 0 refuses it (RFC 9110, section 12.4.2).
    return !absl::ConsumePrefix(&weight, "q=") || !absl::SimpleAtod(weight, &number) || number > 0;
  }
  return false;
}

Answer Compressed(Answer answer) {
  const std::string& plain = *answer.body;
  if (plain.size() < kMinBytes) return answer;
  // Compression can give away a secret that stands in one answer with words of an attacker
  // (BREACH). Here no answer has a secret: no cookie, no token, nothing that the reader is known
  // by.
  std::string compressed = Gzip(plain, plain.size() > kQuickBytes ? 1 : 6);
  if (compressed.size() >= plain.size()) return answer;
  answer.headers.emplace_back("Content-Encoding", "gzip");
  answer.headers.emplace_back("Vary", "Accept-Encoding");
  answer.body = std::make_shared<const std::string>(std::move(compressed));
  return answer;
}

}  // namespace lockstep::web
