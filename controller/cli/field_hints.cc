#include "controller/cli/field_hints.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "proto/fields.h"
#include "proto/job.pb.h"

namespace lockstep::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Words of fio, sysbench, vdbench and others, and how a job file calls the same. A word with
// several translations has the nearest.
struct Word {
  const char* theirs;
  const char* ours;
};
constexpr Word kWords[] = {
    {"bs", "block_size"},
    {"blocksize", "block_size"},
    {"block-size", "block_size"},
    {"file-block-size", "block_size"},
    {"xfersize", "block_size"},
    {"iodepth", "queue_depth"},
    {"io_depth", "queue_depth"},
    {"qd", "queue_depth"},
    {"numjobs", "threads"},
    {"num-threads", "threads"},
    {"rw", "pattern"},
    {"readwrite", "pattern"},
    {"file-test-mode", "pattern"},
    {"seekpct", "pattern"},
    {"rwmixread", "read"},
    {"rdpct", "read"},
    {"read_ratio", "read"},
    {"runtime", "duration"},
    {"time", "duration"},
    {"max-time", "duration"},
    {"elapsed", "duration"},
    {"ramp_time", "ramp"},
    {"warmup", "ramp"},
    {"warmup-time", "ramp"},
    {"rate_iops", "max_iops"},
    {"iorate", "max_iops"},
    {"rate", "max_throughput"},
    {"rate_min", "min_rate"},
    {"rate_iops_min", "min_rate"},
    {"startdelay", "start_delay"},
    {"exitall", "ends_phase"},
    {"prio", "io_priority"},
    {"prioclass", "io_priority"},
    {"ioengine", "engine"},
    {"file-io-mode", "engine"},
    {"number_ios", "operations"},
    {"io_limit", "io_size"},
    {"max-requests", "operations"},
    {"filename", "targets"},
    {"target", "targets"},
    {"lun", "targets"},
    {"thinktime", "think_time"},
    {"bssplit", "block_sizes"},
    {"file-fsync-freq", "fsync"},
    {"file-num", "count"},
    {"nrfiles", "count"},
    {"filesize", "size"},
    {"file-total-size", "size"},
    {"directory", "path"},
    {"host", "hosts"},
    {"nodes", "hosts"},
};

// The fields that a job file may have. The controller fills the others in.
std::vector<const FieldDescriptor*> FieldsOf(const Descriptor& type) {
  std::vector<const FieldDescriptor*> fields;
  for (int i = 0; i < type.field_count(); ++i) {
    if (!type.field(i)->options().GetExtension(v1::derived)) fields.push_back(type.field(i));
  }
  return fields;
}

bool Has(const Descriptor& type, const std::string& name) {
  for (const FieldDescriptor* field : FieldsOf(type)) {
    if (v1::JobFieldName(*field) == name) return true;
  }
  return false;
}

// The places of a job that have a field of this name, as paths without numbers:
// phases[].run.duration.
void FindPaths(const Descriptor& type, const std::string& prefix, const std::string& name,
               std::set<const Descriptor*>* above, std::vector<std::string>* found) {
  // A message may hold itself; deeper than this nobody looks for a field.
  constexpr size_t kDeepest = 5;
  if (above->size() >= kDeepest || !above->insert(&type).second) return;
  for (const FieldDescriptor* at : FieldsOf(type)) {
    const FieldDescriptor& field = *at;
    const std::string own = v1::JobFieldName(field);
    const std::string path = absl::StrCat(prefix, prefix.empty() ? "" : ".", own);
    if (own == name) found->push_back(path);
    if (field.message_type() == nullptr || field.is_map()) continue;
    FindPaths(*field.message_type(), path + (field.is_repeated() ? "[]" : ""), name, above, found);
  }
  above->erase(&type);
}

std::string WithoutNumbers(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c < '0' || c > '9') out += c;
  }
  return out;
}

size_t CommonLength(const std::string& a, const std::string& b) {
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(std::min(a.size(), b.size())),
                    b.begin())
          .first -
      a.begin());
}

// The place of a field of this name that shares most of the path; empty where there is none.
std::string NearestPath(const std::string& path, const std::string& name) {
  std::vector<std::string> paths;
  std::set<const Descriptor*> above;
  FindPaths(*v1::JobSpec::descriptor(), "", name, &above, &paths);
  if (paths.empty()) return "";
  const std::string here = WithoutNumbers(path);
  // A person who writes a size means the target's, and not that of a part of it.
  const auto is_of_part = [](const std::string& p) { return absl::StrContains(p, ".region."); };
  return *std::max_element(paths.begin(), paths.end(), [&](const auto& a, const auto& b) {
    if (is_of_part(a) != is_of_part(b)) return is_of_part(a);
    const size_t of_a = CommonLength(a, here);
    const size_t of_b = CommonLength(b, here);
    return of_a != of_b ? of_a < of_b : a.size() > b.size();
  });
}

// The most similar name of a field of the message; empty where none is similar.
std::string MostSimilar(const Descriptor& type, const std::string& key) {
  std::string nearest;
  // A name that differs in more than half of its letters is not a typing error.
  size_t least = 1 + key.size() / 2;
  for (const FieldDescriptor* field : FieldsOf(type)) {
    const std::string name = v1::JobFieldName(*field);
    const size_t distance = common::EditDistance(key, name);
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

}  // namespace

std::string FieldNames(const Descriptor& type) {
  std::vector<std::string> names;
  for (const FieldDescriptor* field : FieldsOf(type)) names.push_back(v1::JobFieldName(*field));
  return absl::StrJoin(names, ", ");
}

std::string UnknownFieldText(const Descriptor& type, const std::string& path,
                             const std::string& key) {
  // The edit distance takes time in proportion to the product of both lengths.
  if (key.size() > 100) return absl::StrCat("is not a field; known here: ", FieldNames(type));
  std::string name = key;
  for (const Word& word : kWords) {
    if (key == word.theirs) name = word.ours;
  }
  if (Has(type, name)) return absl::StrCat("is not a field; it is called ", name, " here");
  // Such a field would promise something that the phase cannot measure.
  if (type.name() == "ObservePhase" && Has(*v1::RunPhase::descriptor(), name)) {
    return absl::StrCat(
        "belongs to run phases; an observe phase does no I/O of its own, so that it "
        "has no figures for it. Known here: ",
        FieldNames(type));
  }
  if (const std::string nearby = NearestPath(path, name); !nearby.empty()) {
    return absl::StrCat(
        "is not a field here; ", name == key ? "" : absl::StrCat("it is called ", name, ", and "),
        "belongs to ",
        absl::StrContains(nearby, ".") ? nearby : "the file's top level, beside name and phases");
  }
  const std::string nearest = MostSimilar(type, key);
  return nearest.empty() ? absl::StrCat("is not a field; known here: ", FieldNames(type))
                         : absl::StrCat("is not a field; did you mean ", nearest, "?");
}

}  // namespace lockstep::cli
