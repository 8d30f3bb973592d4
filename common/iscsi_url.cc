#include "common/iscsi_url.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/text.h"

namespace lockstep::common {
namespace {

constexpr int kDefaultPort = 3260;
// SAM-5's flat addressing has 14 bits.
constexpr int kMaxLuns = 16384;
// RFC 7143 allows iSCSI names of at most 223 bytes.
constexpr size_t kMaxName = 223;
constexpr size_t kMaxHost = 253;

absl::Status Wrong(const std::string& text, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", Printable(text, 100), "' ", what, "; write iscsi://HOST[:PORT]/IQN/LUN"));
}

bool IsOf(const std::string& text, const char* others) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(others).find(c) != std::string_view::npos;
  });
}

// HOST, HOST:PORT or [IPV6]:PORT as HOST:PORT; empty when it is none.
std::string PortalOf(const std::string& text) {
  std::string host = text;
  std::string port;
  const bool bracketed = absl::StartsWith(text, "[");
  const size_t close = text.find(']');
  // The colons within the brackets belong to the IPv6 address.
  const size_t colon = text.find(':', bracketed && close != std::string::npos ? close : size_t{0});
  if (colon != std::string::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  int number = kDefaultPort;
  if (colon != std::string::npos &&
      (!absl::SimpleAtoi(port, &number) || number < 1 || number > 65535)) {
    return "";
  }
  if (bracketed) {
    if (host.size() < 4 || host.back() != ']' || !IsOf(host.substr(1, host.size() - 2), ":.")) {
      return "";
    }
  } else if (host.size() > kMaxHost || !IsOf(host, ".-_")) {
    return "";
  }
  // The port is always written out. HOST and HOST:3260 name one portal, and must become one text.
  return absl::StrCat(host, ":", number);
}

}  // namespace

std::string IscsiUrl::target_text() const {
  return absl::StrCat(kIscsiScheme, portal, "/", target);
}
std::string IscsiUrl::text() const { return absl::StrCat(target_text(), "/", lun); }

absl::StatusOr<IscsiUrl> ParseIscsiUrl(const std::string& text) {
  // libiscsi's URLs may hold user%password@host. A job is stored and shown to others, so it must
  // hold no secret. For the same reason the message does not repeat the text.
  if (text.find_first_of("@%") != std::string::npos) {
    return absl::InvalidArgumentError(
        "the iSCSI address holds a user's name, a password or an escape (@ or %); CHAP secrets "
        "stand in the file that the worker's --iscsi-secrets names");
  }
  if (!absl::StartsWith(text, kIscsiScheme)) return Wrong(text, "is no iSCSI address");
  const std::vector<std::string> parts = absl::StrSplit(text.substr(sizeof kIscsiScheme - 1), '/');
  if (parts.size() != 3) return Wrong(text, "is not of three parts");
  IscsiUrl url;
  url.portal = PortalOf(parts[0]);
  if (url.portal.empty()) return Wrong(text, "names no host and port");
  url.target = parts[1];
  const bool named = absl::StartsWith(url.target, "iqn.") || absl::StartsWith(url.target, "eui.") ||
                     absl::StartsWith(url.target, "naa.");
  if (!named || url.target.size() > kMaxName || !IsOf(url.target, ".-:")) {
    return Wrong(text, "names no target (iqn.…, eui.… or naa.…)");
  }
  // SimpleAtoi() would also take blanks and a sign.
  const bool digits = IsOf(parts[2], "") && parts[2].size() < 6;
  if (!digits || !absl::SimpleAtoi(parts[2], &url.lun) || url.lun < 0 || url.lun >= kMaxLuns) {
    return Wrong(text, "names no LUN from 0 to 16383");
  }
  return url;
}

}  // namespace lockstep::common
