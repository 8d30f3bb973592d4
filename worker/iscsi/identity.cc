#include "worker/iscsi/identity.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace lockstep::worker {
namespace {

enum DesignatorType { kT10 = 1, kEui64 = 2, kNaa = 3, kScsiName = 8 };

struct Designator {
  int type = 0;
  absl::Span<const uint8_t> value;
};

// The order of designator_prio() in drivers/scsi/scsi_lib.c: the highest wins, and 0 is never used.
int Preference(const Designator& d) {
  switch (d.type) {
    case kScsiName:
      return 9;
    case kNaa:
      switch (d.value[0] >> 4) {
        case 6:
          return d.value.size() == 16 ? 8 : 0;
        case 5:
          return d.value.size() == 8 ? 5 : 0;
        case 2:
          return d.value.size() == 8 ? 4 : 0;
        case 3:  // assigned locally: others may have the same
          return d.value.size() == 8 ? 1 : 0;
        default:
          return 0;
      }
    case kEui64:
      return d.value.size() == 16 ? 7 : d.value.size() == 12 ? 6 : d.value.size() == 8 ? 3 : 0;
    case kT10:
      return 2;
    default:
      return 0;
  }
}

std::string TextOf(const Designator& d) {
  const std::string bytes(reinterpret_cast<const char*>(d.value.data()), d.value.size());
  if (d.type == kNaa) return absl::StrCat("naa.", absl::BytesToHexString(bytes));
  if (d.type == kEui64) return absl::StrCat("eui.", absl::BytesToHexString(bytes));
  // Devices pad their text with blanks. Other blanks, and characters that are not printable, become
  // underscores.
  std::string text;
  for (const char c : bytes) {
    if (c == 0) break;
    text += absl::ascii_isgraph(static_cast<unsigned char>(c)) ? c : c == ' ' ? ' ' : '_';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  std::replace(text.begin(), text.end(), ' ', '_');
  if (text.empty()) return "";
  return d.type == kT10 ? absl::StrCat("t10.", text) : text;
}

}  // namespace

std::string LunIdentity(absl::Span<const uint8_t> page) {
  if (page.size() < 4 || page[1] != 0x83) return "";
  const size_t length = size_t{page[2]} << 8 | page[3];
  page = page.subspan(4, length);
  std::string best;
  int preference = 0;
  while (page.size() >= 4) {
    const size_t size = page[3];
    // The lengths are the target's word: one that points past the page ends the list.
    if (size == 0 || page.size() < 4 + size) break;
    Designator d{page[1] & 0x0f, page.subspan(4, size)};
    // Designators of a target port or of the target differ from path to path, or are the same for
    // all LUNs.
    const bool of_the_unit = (page[1] & 0x30) == 0;
    page = page.subspan(4 + size);
    if (!of_the_unit || Preference(d) <= preference) continue;
    const std::string text = TextOf(d);
    if (text.empty()) continue;
    best = text;
    preference = Preference(d);
  }
  return best;
}

}  // namespace lockstep::worker
