#include "proto/protocol_version.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace lockstep::v1 {
namespace {

// A program counts its versions one by one. A number beyond this comes from no program of ours.
constexpr uint32_t kMaxVersion = 9999;
constexpr int kMaxFeatures = 64;  // as max_count of Hello.features

std::string Versions(const ProtocolOffer& offer) {
  if (offer.lowest == offer.highest) return absl::StrCat("version ", offer.highest);
  return absl::StrCat("versions ", offer.lowest, " to ", offer.highest);
}

std::string Release(const std::string& software) {
  return software.empty() ? "an unnamed Lockstep" : absl::StrCat("Lockstep ", software);
}

// Why a range is none. Empty if it is one.
std::string WhyInvalid(const ProtocolOffer& offer) {
  if (offer.highest == 0) return "its Hello names no protocol version";
  if (offer.lowest > offer.highest) {
    return absl::StrCat("its Hello names the protocol versions ", offer.lowest, " to ",
                        offer.highest, ", which is no range");
  }
  if (offer.highest > kMaxVersion) {
    return absl::StrCat("its Hello names protocol version ", offer.highest,
                        "; the highest possible number is ", kMaxVersion);
  }
  return "";
}

}  // namespace

ProtocolOffer OwnProtocol() {
  ProtocolOffer own;
  // The guard's rule holds in both directions: a controller from before a change of the guard does
  // not know what to tell the guard that came after it.
  own.lowest = std::max(kLowestProtocolVersion, kLowestGuardVersion);
  own.highest = PROTOCOL_VERSION_CURRENT;
  own.features = {PROTOCOL_FEATURE_STAMPS};
  return own;
}

std::vector<std::string> FeatureNames(const std::set<int>& features) {
  std::vector<std::string> names;
  for (const int number : features) {
    if (!ProtocolFeature_IsValid(number)) continue;
    const std::string name = ProtocolFeature_Name(static_cast<ProtocolFeature>(number));
    names.push_back(absl::AsciiStrToLower(absl::StripPrefix(name, "PROTOCOL_FEATURE_")));
  }
  return names;
}

std::string OwnProtocolJson() {
  const ProtocolOffer own = OwnProtocol();
  // Names of features are identifiers, which JSON need not escape.
  const auto quote = [](std::string* out, const std::string& name) {
    absl::StrAppend(out, "\"", name, "\"");
  };
  return absl::StrCat("\"protocol\": ", own.highest, ", \"lowest_protocol\": ", own.lowest,
                      ", \"features\": [", absl::StrJoin(FeatureNames(own.features), ", ", quote),
                      "]");
}

void SetOffer(const ProtocolOffer& offer, Hello* hello) {
  hello->set_lowest_protocol_version(offer.lowest);
  hello->set_protocol_version(offer.highest);
  hello->clear_features();
  for (const int number : offer.features) hello->add_features(static_cast<ProtocolFeature>(number));
}

ProtocolOffer OfferOf(const Hello& hello) {
  ProtocolOffer offer;
  offer.highest = hello.protocol_version();
  offer.lowest =
      hello.lowest_protocol_version() == 0 ? offer.highest : hello.lowest_protocol_version();
  for (const int number : hello.features()) offer.features.insert(number);
  return offer;
}

bool HasFeature(const Hello& hello, ProtocolFeature feature) {
  return std::find(hello.features().begin(), hello.features().end(), feature) !=
         hello.features().end();
}

absl::StatusOr<ProtocolAgreement> Agree(const Hello& hello, const ProtocolOffer& own,
                                        uint32_t lowest_guard, const std::string& software) {
  const ProtocolOffer offer = OfferOf(hello);
  if (const std::string wrong = WhyInvalid(offer); !wrong.empty()) {
    return absl::FailedPreconditionError(wrong);
  }
  if (hello.features_size() > kMaxFeatures) {
    return absl::FailedPreconditionError(absl::StrCat("its Hello names ", hello.features_size(),
                                                      " features; the maximum is ", kMaxFeatures));
  }
  const std::string worker = Release(hello.software_version());
  const std::string controller = Release(software);
  // The guard comes with the program, so its age is that of the newest version that the program
  // speaks. It is asked first: what else the two have in common does not matter.
  if (offer.highest < lowest_guard) {
    return absl::FailedPreconditionError(
        absl::StrCat("the guard of ", worker, " is of protocol version ", offer.highest, ", and ",
                     controller, " on this controller admits none older than version ",
                     lowest_guard, ": install ", controller, " on the worker's host"));
  }
  const std::string both =
      absl::StrCat("the worker (", worker, ") speaks protocol ", Versions(offer),
                   ", this controller (", controller, ") speaks ", Versions(own));
  if (offer.highest < own.lowest) {
    return absl::FailedPreconditionError(
        absl::StrCat(both, ": install ", controller, " on the worker's host"));
  }
  if (offer.lowest > own.highest) {
    return absl::FailedPreconditionError(
        absl::StrCat(both, ": install ", worker, " on the controller's host"));
  }
  ProtocolAgreement agreement;
  agreement.version = std::min(offer.highest, own.highest);
  // A feature that only one of them knows is left out: neither may use it.
  std::set_intersection(offer.features.begin(), offer.features.end(), own.features.begin(),
                        own.features.end(),
                        std::inserter(agreement.features, agreement.features.end()));
  return agreement;
}

absl::Status CheckWelcome(const Welcome& welcome, const ProtocolOffer& own,
                          const std::string& software) {
  const uint32_t version = welcome.protocol_version();
  if (version >= own.lowest && version <= own.highest) return absl::OkStatus();
  const std::string controller = Release(welcome.software_version());
  const std::string worker = Release(software);
  return absl::FailedPreconditionError(absl::StrCat(
      "it (", controller, ") answers in protocol version ", version, "; this worker (", worker,
      ") speaks ", Versions(own), ": install ", version > own.highest ? controller : worker, " on ",
      version > own.highest ? "this host" : "the controller's host"));
}

}  // namespace lockstep::v1
