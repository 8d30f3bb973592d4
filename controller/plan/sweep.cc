#include "controller/plan/sweep.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/limits.h"
#include "common/text.h"
#include "proto/field_text.h"
#include "proto/fields.h"

namespace lockstep::controller {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

uint64_t PointsOnce(const v1::Sweep& sweep) {
  uint64_t points = 1;
  for (const v1::SweepAxis& axis : sweep.axes()) {
    const auto values = static_cast<uint64_t>(axis.values_size());
    if (sweep.combine() != v1::SWEEP_COMBINE_ZIP) {
      points = std::min<uint64_t>(points * values, uint64_t{1} << 40);  // 100^8 would overflow
    } else if (values != static_cast<uint64_t>(sweep.axes(0).values_size())) {
      return 0;
    } else {
      points = values;
    }
  }
  return points;
}

// Returns the points in the order in which a repetition runs them. A controller that takes the run
// over must find the same order. mt19937_64 is fixed by the C++ standard; the algorithms of
// std::shuffle and std::uniform_int_distribution are not, so they are not used here.
std::vector<uint64_t> OrderOf(const v1::Sweep& sweep, uint64_t points, uint32_t repeat) {
  std::vector<uint64_t> order(points);
  std::iota(order.begin(), order.end(), 0);
  if (sweep.order() != v1::SWEEP_ORDER_RANDOM) return order;
  // Each repetition has an order of its own. A drift during the run then does not always meet the
  // same points last.
  std::mt19937_64 random(sweep.seed() * 1000003 + repeat);
  for (uint64_t i = points; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

// The point with this number, in the order of the axes' values: the last axis changes fastest.
SweepPoint PointOf(const v1::Sweep& sweep, uint64_t index, uint32_t repeat) {
  SweepPoint point;
  point.repeat = repeat;
  point.indices.resize(static_cast<size_t>(sweep.axes_size()));
  for (int a = sweep.axes_size() - 1; a >= 0; --a) {
    const auto values = static_cast<uint64_t>(sweep.axes(a).values_size());
    const bool zip = sweep.combine() == v1::SWEEP_COMBINE_ZIP;
    point.indices[static_cast<size_t>(a)] = static_cast<uint32_t>(zip           ? index
                                                                  : values == 0 ? 0
                                                                                : index % values);
    if (!zip && values != 0) index /= values;
  }
  for (int a = 0; a < sweep.axes_size(); ++a) {
    const auto at = static_cast<int>(point.indices[static_cast<size_t>(a)]);
    if (at >= sweep.axes(a).values_size()) continue;
    point.values.emplace_back(sweep.axes(a).field(), sweep.axes(a).values(at));
  }
  return point;
}

constexpr char kOfTarget[] = "targets.";

// NAME and FIELD of "targets.NAME.FIELD".
std::pair<std::string, std::string> NameAndField(const std::string& field) {
  const std::vector<std::string> parts = absl::StrSplit(field, absl::MaxSplits('.', 2));
  return parts.size() == 3 ? std::pair(parts[1], parts[2]) : std::pair<std::string, std::string>();
}

// The indices of the values that say which files a point has.
std::vector<uint32_t> FilesOf(const v1::Sweep& sweep, const SweepPoint& point) {
  std::vector<uint32_t> files;
  for (int a = 0; a < sweep.axes_size(); ++a) {
    if (IsOfTarget(sweep.axes(a))) files.push_back(point.indices[static_cast<size_t>(a)]);
  }
  return files;
}

// A repetition of a sweep whose points with the same files share them.
std::vector<SweepStep> GroupedSteps(const v1::Sweep& sweep, uint64_t points, uint32_t repeat) {
  std::vector<std::vector<uint32_t>> groups;
  std::map<std::vector<uint32_t>, std::vector<SweepPoint>> members;
  for (const uint64_t index : OrderOf(sweep, points, repeat)) {
    SweepPoint point = PointOf(sweep, index, repeat);
    std::vector<uint32_t> files = FilesOf(sweep, point);
    std::vector<SweepPoint>& group = members[files];
    // Groups run in the order in which their first point comes, so that a random order shuffles
    // them, too.
    if (group.empty()) groups.push_back(std::move(files));
    group.push_back(std::move(point));
  }
  std::vector<SweepStep> steps;
  for (const std::vector<uint32_t>& files : groups) {
    const std::vector<SweepPoint>& group = members[files];
    steps.push_back({StepKind::kPrepare, group.front()});
    for (const SweepPoint& point : group) steps.push_back({StepKind::kRun, point});
    steps.push_back({StepKind::kCleanup, group.front()});
  }
  return steps;
}

std::vector<SweepStep> StepsOfRepetition(const v1::Sweep& sweep, uint32_t repeat) {
  const uint64_t points = PointsOnce(sweep);
  if (sweep.has_prepare() && sweep.group() == v1::SWEEP_GROUP_FILES) {
    return GroupedSteps(sweep, points, repeat);
  }
  std::vector<SweepStep> steps;
  for (const uint64_t index : OrderOf(sweep, points, repeat)) {
    const SweepPoint point = PointOf(sweep, index, repeat);
    if (sweep.has_prepare()) steps.push_back({StepKind::kPrepare, point});
    steps.push_back({StepKind::kRun, point});
    if (sweep.has_prepare()) steps.push_back({StepKind::kCleanup, point});
  }
  return steps;
}

// How many steps a repetition has.
uint64_t StepsOnce(const v1::Sweep& sweep) {
  const uint64_t points = PointsOnce(sweep);
  if (!sweep.has_prepare()) return points;
  if (sweep.group() != v1::SWEEP_GROUP_FILES) return 3 * points;
  // More points than a job may have steps are refused, whatever this returns.
  if (points > static_cast<uint64_t>(limits::kJobSteps)) return points;
  std::set<std::vector<uint32_t>> files;
  for (uint64_t i = 0; i < points; ++i) files.insert(FilesOf(sweep, PointOf(sweep, i, 0)));
  return points + 2 * files.size();
}

const FieldDescriptor* Find(const Message& message, const std::string& name) {
  return v1::FindJobField(*message.GetDescriptor(), name);
}

// The field at the end of the path, from a message of this type.
const FieldDescriptor* FieldAt(const Descriptor* type, const std::vector<std::string>& path) {
  const FieldDescriptor* field = nullptr;
  for (size_t i = 0; i < path.size(); ++i) {
    field = type == nullptr ? nullptr : v1::FindJobField(*type, path[i]);
    if (field == nullptr) return nullptr;
    type = field->message_type();
    // The number of the list's item stands between its name and that of a field.
    if (field->is_repeated() && i + 1 < path.size()) ++i;
  }
  return field;
}

absl::Status Wrong(const std::string& field, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("'", common::Printable(field, 100), "' ", why));
}

// The hosts that a value names: "node[1-4],db1", or by labels "rack=1,disk=ssd". The commas within
// brackets belong to a name.
absl::Status SetHosts(const std::string& whole, const FieldDescriptor& field,
                      const std::string& text, v1::HostSelector* hosts) {
  std::vector<std::string> parts(1);
  bool is_within = false;
  for (const char c : text) {
    is_within = c == '[' || (is_within && c != ']');
    if (c == ',' && !is_within) {
      parts.emplace_back();
    } else if (c != ' ') {
      parts.back() += c;
    }
  }
  if (field.is_map()) {
    hosts->clear_labels();
  } else {
    hosts->clear_names();
  }
  for (const std::string& part : parts) {
    const std::vector<std::string> pair = absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (part.empty() || (field.is_map() && (pair.size() != 2 || pair[0].empty()))) {
      return Wrong(
          whole,
          absl::StrCat("takes ", field.is_map() ? "labels (rack=1)" : "names of hosts",
                       ", with commas between them; '", common::Printable(text, 60), "' is none"));
    }
    if (field.is_map()) {
      (*hosts->mutable_labels())[pair[0]] = pair[1];
    } else {
      hosts->add_names(part);
    }
  }
  return absl::OkStatus();
}

// Sets what the rest of the path names, in the message.
absl::Status SetAt(const std::string& whole, std::vector<std::string> path, const std::string& text,
                   Message* message) {
  const FieldDescriptor* field = Find(*message, path.front());
  if (field == nullptr) {
    return Wrong(whole, absl::StrCat("is no field: there is no `",
                                     common::Printable(path.front(), 60), "`"));
  }
  path.erase(path.begin());
  const auto* reflection = message->GetReflection();
  // A value is one text, so lists and maps cannot be swept, but for the hosts of a workload.
  auto* hosts = google::protobuf::DynamicCastToGenerated<v1::HostSelector>(message);
  if (hosts != nullptr && field->is_repeated() && path.empty()) {
    return SetHosts(whole, *field, text, hosts);
  }
  if (field->is_map()) return Wrong(whole, "is a map, which a sweep cannot set");
  if (field->is_repeated()) {
    uint32_t index = 0;
    if (path.size() < 2 || !absl::SimpleAtoi(path.front(), &index) ||
        field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      return Wrong(whole, "is a list: name the field of one of its items, as workloads.0.threads");
    }
    if (index >= static_cast<uint32_t>(reflection->FieldSize(*message, field))) {
      return Wrong(whole, absl::StrCat("has no item ", index));
    }
    path.erase(path.begin());
    return SetAt(whole, std::move(path), text,
                 reflection->MutableRepeatedMessage(message, field, static_cast<int>(index)));
  }
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    Message* inner = reflection->MutableMessage(message, field);
    if (!path.empty()) return SetAt(whole, std::move(path), text, inner);
    // The text names a choice. Without Clear(), parameters of the choice that it replaces could
    // stay.
    inner->Clear();
    return v1::ChooseFromText(text, inner);
  }
  if (!path.empty()) return Wrong(whole, "goes on behind a plain field");
  return v1::SetFromText(*field, text, message);
}

}  // namespace

uint64_t PointsOf(const v1::Sweep& sweep) {
  return PointsOnce(sweep) * std::max<uint64_t>(1, sweep.repeat());
}

uint64_t StepsOf(const v1::Sweep& sweep) {
  return StepsOnce(sweep) * std::max<uint64_t>(1, sweep.repeat());
}

SweepPoint PointAt(const v1::Sweep& sweep, uint32_t run) {
  // A sweep whose axes do not fit together has 0 points. The maximum keeps the divisions below
  // defined.
  const uint64_t points = std::max<uint64_t>(1, PointsOnce(sweep));
  const auto repeat = static_cast<uint32_t>(run / points);
  return PointOf(sweep, OrderOf(sweep, points, repeat)[run % points], repeat);
}

SweepStep StepAt(const v1::Sweep& sweep, uint32_t step) { return SweepSteps(sweep).At(step); }

SweepSteps::SweepSteps(const v1::Sweep& sweep)
    : sweep_(sweep), once_(std::max<uint64_t>(1, StepsOnce(sweep))) {}

const SweepStep& SweepSteps::At(uint32_t step) {
  if (step / once_ != repeat_) {
    repeat_ = step / once_;
    steps_ = StepsOfRepetition(sweep_, static_cast<uint32_t>(repeat_));
    // A sweep whose axes do not fit together has no steps.
    if (steps_.empty()) steps_.emplace_back();
  }
  return steps_[std::min<uint64_t>(step % once_, steps_.size() - 1)];
}

bool EndsRepetition(const v1::Sweep& sweep, uint32_t step) {
  return (step + 1) % std::max<uint64_t>(1, StepsOnce(sweep)) == 0;
}

bool IsOfTarget(const v1::SweepAxis& axis) { return absl::StartsWith(axis.field(), kOfTarget); }

const FieldDescriptor* FieldOf(const v1::SweepAxis& axis) {
  if (IsOfTarget(axis)) {
    return FieldAt(v1::Target::descriptor(),
                   absl::StrSplit(NameAndField(axis.field()).second, '.'));
  }
  const std::vector<std::string> path = absl::StrSplit(axis.field(), '.');
  // As in Apply().
  const FieldDescriptor* of_phase = FieldAt(v1::RunPhase::descriptor(), path);
  return of_phase != nullptr ? of_phase : FieldAt(v1::Workload::descriptor(), path);
}

std::vector<std::string> FileVariantsOf(const v1::Sweep& sweep) {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (uint64_t i = 0; i < PointsOnce(sweep); ++i) {
    const SweepPoint point = PointOf(sweep, i, 0);
    for (const std::string& target : sweep.prepare().targets()) {
      std::string name = TargetAt(target, point);
      if (known.insert(name).second) names.push_back(std::move(name));
    }
  }
  return names;
}

std::string TargetAt(const std::string& name, const SweepPoint& point) {
  constexpr size_t kMaxName = 128;  // of a target (proto/job.proto)
  std::string full = name;
  // A name of several bytes for each letter is not cut within one.
  size_t kept = std::min(name.size(), kMaxName / 2);
  while (kept > 0 && kept < name.size() && (static_cast<uint8_t>(name[kept]) & 0xC0) == 0x80)
    --kept;
  std::string numbered = name.substr(0, kept) + " #";
  for (size_t a = 0; a < point.values.size(); ++a) {
    const auto& [field, text] = point.values[a];
    if (!absl::StartsWith(field, kOfTarget) || NameAndField(field).first != name) continue;
    absl::StrAppend(&full, " ", NameAndField(field).second, "=", text);
    absl::StrAppend(&numbered, absl::EndsWith(numbered, "#") ? "" : ".", point.indices[a] + 1);
  }
  // Values can be long, such as paths. The report of the sweep has them.
  return full.size() <= kMaxName ? full : numbered;
}

std::string NameOf(const SweepPoint& point) {
  std::string name = absl::StrJoin(point.values, " ", absl::PairFormatter("="));
  if (point.repeat > 0) {
    absl::StrAppend(&name, name.empty() ? "" : " ", "(", point.repeat + 1, ")");
  }
  return name;
}

absl::Status Apply(const std::string& field, const std::string& text, v1::RunPhase* run) {
  if (absl::StartsWith(field, kOfTarget)) return absl::OkStatus();  // ApplyToTarget()
  const std::vector<std::string> path = absl::StrSplit(field, '.');
  if (path.empty() || path.front().empty()) return Wrong(field, "is no field");
  // A step must be a phase without a sweep or a curve, or its steps would have steps again.
  if (path.front() == "sweep" || path.front() == "curve") return Wrong(field, "cannot be swept");
  // The targets that a phase writes must be known without its points.
  if (std::find(path.begin(), path.end(), "copy") != path.end()) {
    return Wrong(field, "cannot be swept; make a phase for each copy");
  }
  // A field of the phase, or else of each of its workloads.
  if (Find(*run, path.front()) != nullptr) return SetAt(field, path, text, run);
  if (run->workloads().empty()) return Wrong(field, "is no field of a run phase");
  for (v1::Workload& workload : *run->mutable_workloads()) {
    if (absl::Status status = SetAt(field, path, text, &workload); !status.ok()) return status;
  }
  return absl::OkStatus();
}

namespace {

// The point of a policy of syncs that has none. In a job, such an `fsync` is a mistake.
void LeaveOutEmptySyncs(const SweepPoint& point, v1::RunPhase* run) {
  const bool varies = std::any_of(point.values.begin(), point.values.end(), [](const auto& value) {
    const std::vector<std::string> path = absl::StrSplit(value.first, '.');
    return std::find(path.begin(), path.end(), "fsync") != path.end();
  });
  if (!varies) return;
  for (v1::Workload& workload : *run->mutable_workloads()) {
    const v1::Fsync& fsync = workload.fsync();
    if (fsync.every() == 0 && fsync.every_ios() == 0 && !fsync.at_end()) workload.clear_fsync();
  }
}

}  // namespace

absl::Status Apply(const SweepPoint& point, v1::RunPhase* run) {
  for (const auto& [field, text] : point.values) {
    if (absl::Status status = Apply(field, text, run); !status.ok()) return status;
  }
  LeaveOutEmptySyncs(point, run);
  for (v1::Workload& workload : *run->mutable_workloads()) {
    // After expansion the job has no target of the swept name any more, only its variants.
    for (std::string& target : *workload.mutable_targets()) target = TargetAt(target, point);
    if (!workload.has_copy()) continue;
    v1::Copy* copy = workload.mutable_copy();
    copy->set_from(TargetAt(copy->from(), point));
    copy->set_to(TargetAt(copy->to(), point));
  }
  return absl::OkStatus();
}

absl::Status ApplyToTarget(const std::string& field, const std::string& text, v1::Target* target) {
  const std::vector<std::string> path = absl::StrSplit(NameAndField(field).second, '.');
  const FieldDescriptor* kind = Find(*target, path.front());
  if (kind == nullptr || kind->name() == "name" || kind->options().GetExtension(v1::derived)) {
    return Wrong(field, absl::StrCat("is no field of a target that can vary: there is no `",
                                     common::Printable(path.front(), 60), "`"));
  }
  // Setting a field of another kind would make a file target of a device.
  if (kind->real_containing_oneof() != nullptr &&
      (path.size() < 2 || !v1::Target::GetReflection()->HasField(*target, kind))) {
    return Wrong(field, absl::StrCat("is no field of target '", target->name(), "', which is no `",
                                     kind->name(), "`, or names none of its fields"));
  }
  return SetAt(field, path, text, target);
}

}  // namespace lockstep::controller
