#include "controller/cli/releases.h"

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace lockstep::cli {
namespace {

constexpr int kShownReleases = 20;

}  // namespace

std::string SpokenProtocols(const v1::StatusReply& reply) {
  const uint32_t lowest = reply.protocol().lowest();
  const uint32_t highest = reply.protocol().highest();
  // A controller from before there were ranges says nothing of them.
  if (highest == 0) return "";
  return lowest == highest ? absl::StrCat(", protocol ", highest)
                           : absl::StrCat(", protocols ", lowest, " to ", highest);
}

std::string OtherReleases(const v1::StatusReply& reply) {
  std::string lines;
  int others = 0;
  for (const v1::AttachedWorker& worker : reply.workers()) {
    const std::string& release = worker.hello().software_version();
    // A fleet of thousands may have another release. All of them are counted, and a few are shown.
    if (release == reply.version() || ++others > kShownReleases) continue;
    absl::StrAppend(&lines, "RELEASE: ", common::Printable(worker.hello().host().name(), 60),
                    " has ",
                    release.empty() ? "an unnamed release" : common::Printable(release, 60),
                    "; its session speaks protocol ", worker.hello().spoken_version(), "\n");
  }
  if (others > kShownReleases) {
    absl::StrAppend(&lines, "RELEASE: ", others - kShownReleases,
                    " more workers have another release; --format json has all\n");
  }
  return lines;
}

}  // namespace lockstep::cli
