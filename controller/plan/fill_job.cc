// Fills in the fields that a job leaves out: the defaults, and the rules of proto/job.proto.

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "controller/plan/loads.h"
#include "controller/plan/validate.h"
#include "proto/defaults.h"
#include "proto/workload.h"

namespace lockstep::controller {
namespace {

// The block size of a verify phase if the job does not write the blocks itself (proto/job.proto).
constexpr int64_t kUnknownBlock = 4096;

// Block sizes of the targets that loads so far write with headers, by name.
using VerifiedBlocks = std::map<std::string, int64_t>;

// The phase's defaults are filled in.
void NoteVerified(const v1::JobSpec& job, const v1::PhaseSpec& phase, VerifiedBlocks* blocks) {
  const auto note = [&](const auto& names, int64_t size) {
    for (const std::string& name : names) (*blocks)[name] = size;
  };
  if (phase.has_precondition() && phase.precondition().verify()) {
    const v1::PreconditionPhase& precondition = phase.precondition();
    if (precondition.targets().empty()) {
      for (const v1::Target& target : job.targets()) {
        (*blocks)[target.name()] = precondition.block_size_bytes();
      }
    }
    note(precondition.targets(), precondition.block_size_bytes());
  }
  for (const v1::Workload& w : phase.run().workloads()) {
    if (!w.verify()) continue;
    for (const std::string& name : w.targets()) {
      if (WritesTo(w, name)) (*blocks)[name] = w.block_size_bytes();
    }
  }
}

void FillTargets(const v1::JobSpec& job, const VerifiedBlocks& verified, v1::PhaseSpec* phase) {
  auto* names = const_cast<google::protobuf::RepeatedPtrField<std::string>*>(TargetNames(*phase));
  if (names == nullptr || !names->empty()) return;
  for (const v1::Target& target : job.targets()) {
    // A sweep makes and removes the files that it varies. Validate() says that devices cannot be
    // named here.
    if (!target.variant_of().empty() && target.has_file()) continue;
    const bool wanted =
        phase->has_verify()
            ? !target.has_null() && (verified.empty() || verified.contains(target.name()))
        : phase->has_precondition() ? !target.has_null()
                                    : target.has_file();
    if (wanted) *names->Add() = target.name();
  }
}

// Leaves 0 if the targets were written with blocks of several sizes. Validate() then asks for the
// size.
void FillVerify(const VerifiedBlocks& so_far, v1::VerifyPhase* verify) {
  if (verify->block_size_bytes() != 0) return;
  std::set<int64_t> sizes;
  for (const std::string& target : verify->targets()) {
    const auto known = so_far.find(target);
    sizes.insert(known != so_far.end() ? known->second : kUnknownBlock);
  }
  if (sizes.size() > 1) return;
  verify->set_block_size_bytes(sizes.empty() ? kUnknownBlock : *sizes.begin());
}

// Phases without a name are called by their kind, with a number where there are several.
void FillNames(v1::JobSpec* job) {
  std::set<std::string> taken;
  for (const v1::PhaseSpec& phase : job->phases()) taken.insert(phase.name());
  std::map<std::string, int> numbers;
  for (v1::PhaseSpec& phase : *job->mutable_phases()) {
    if (!phase.name().empty()) continue;
    const std::string kind = KindName(phase);
    std::string name = kind;
    while (!taken.insert(name).second) name = absl::StrCat(kind, " ", std::max(2, ++numbers[kind]));
    numbers[kind] = std::max(numbers[kind], 1);
    phase.set_name(name);
  }
}

}  // namespace

void FillJob(v1::JobSpec* job) {
  FillCopies(job);
  // FillDefaults() gives every workload an engine. LUNs must have theirs before that.
  ChooseEngines(job);
  v1::FillDefaults(job);
  for (v1::Target& target : *job->mutable_targets()) {
    if (target.sharing() == v1::SHARING_INTERLEAVED && target.stripe_bytes() == 0) {
      target.set_stripe_bytes(1 << 20);
    }
    if (target.sharing() != v1::SHARING_UNSPECIFIED) continue;
    target.set_sharing(target.has_file()   ? v1::SHARING_PRIVATE
                       : target.has_null() ? v1::SHARING_OVERLAPPED
                                           : v1::SHARING_SLICED);
  }
  FillNames(job);
  VerifiedBlocks verified;
  for (v1::PhaseSpec& phase : *job->mutable_phases()) {
    for (int i = 0; i < phase.run().workloads_size(); ++i) {
      FillWorkload(*job, i, phase.mutable_run()->mutable_workloads(i));
    }
    NoteVerified(*job, phase, &verified);
  }
  VerifiedBlocks so_far;
  for (v1::PhaseSpec& phase : *job->mutable_phases()) {
    FillTargets(*job, verified, &phase);
    if (phase.has_verify()) FillVerify(so_far, phase.mutable_verify());
    NoteVerified(*job, phase, &so_far);
  }
}

}  // namespace lockstep::controller
