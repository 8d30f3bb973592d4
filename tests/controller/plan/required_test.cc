// Fields that are marked as required. The client says which line of a job file lacks one. A job
// that comes another way, such as one translated from another tool's file, is judged here alone.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "proto/units.pb.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Jobs that together have every required field. Each begins with a file target `t`.
constexpr const char* kJobs[] = {
    R"(phases { run { duration_ns: 1000000000 workloads {} } })",
    R"(phases { run { duration_ns: 1000000000
         workloads { block_sizes { block_size_bytes: 4096 } block_sizes { block_size_bytes: 8192 } }
         workloads { name: "b" access { block_size_bytes: 4096 } }
         workloads { name: "c" pattern { hot_zones {
             zones { io_ratio: 0.5 size_ratio: 0.2 } zones { io_ratio: 0.5 size_ratio: 0.8 } } } }
         workloads { name: "d" pattern { random {} } sequence { length: 8 } }
         environment { remount { path: "/data" options: "noatime" } } } })",
    R"(phases { run { duration_ns: 1000000000 workloads {}
         sweep { repeat: 9 until { within_ratio: 0.1 }
           axes { field: "queue_depth" values: "1" values: "2" } } } })",
    R"(phases { name: "first" run { duration_ns: 1000000000 workloads {} } }
       phases { run { duration_ns: 1000000000 curve { share_ratio: 0.5 share_ratio: 1 }
         workloads { open_loop { measured { phase: "first" } } } } })",
    R"(phases { observe { duration_ns: 1000000000 } })",
    R"(targets { name: "to" file { path: "/data/to.{host}" size_bytes: 67108864 } }
       phases { run { workloads { copy { from: "t" to: "to" } } } })",
    R"(targets { name: "lun" iscsi { url: "iscsi://10.0.0.1/iqn.2026-11.local:a/0" } }
       phases { run { duration_ns: 1000000000 workloads { targets: "lun" } } })",
};

v1::JobSpec Parsed(const std::string& rest) {
  v1::JobSpec job;
  const std::string text =
      "name: 'j' targets { name: 't' file { path: '/data/{host}' size_bytes: 67108864 } } "
      "phases { prepare {} } ";
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text + rest, &job)) << rest;
  return job;
}

// The problems that the controller finds, as its plan does.
std::vector<v1::Problem> Judged(v1::JobSpec job) {
  std::vector<v1::Problem> problems = CheckLimits(job);
  if (!problems.empty()) return problems;
  FillJob(&job);
  return Validate(job);
}

std::string TextOf(const std::vector<v1::Problem>& problems) {
  std::string text;
  for (const v1::Problem& problem : problems) {
    absl::StrAppend(&text, problem.path(), ": ", problem.message(), "\n");
  }
  return text;
}

bool IsRequired(const FieldDescriptor& field) { return field.options().GetExtension(v1::required); }

// Required fields of a message and of those that it consists of.
void FindRequired(const Descriptor& type, std::set<std::string>* seen,
                  std::set<std::string>* fields) {
  if (!seen->insert(type.full_name()).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (IsRequired(field)) fields->insert(field.full_name());
    if (field.message_type() != nullptr) FindRequired(*field.message_type(), seen, fields);
  }
}

class Clearing {
 public:
  explicit Clearing(const v1::JobSpec& job) : job_(job) {}

  // Clears each required field in turn, and judges the job without it.
  void Run() { Visit(&job_); }
  std::set<std::string> cleared;

 private:
  void Visit(Message* message) {
    const auto* reflection = message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (IsRequired(*field)) JudgeWithout(*field, message);
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_map()) continue;
      if (!field->is_repeated()) {
        Visit(reflection->MutableMessage(message, field));
        continue;
      }
      for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
        Visit(reflection->MutableRepeatedMessage(message, field, i));
      }
    }
  }

  void JudgeWithout(const FieldDescriptor& field, Message* message) {
    cleared.insert(field.full_name());
    // The message is a part of the job.
    const v1::JobSpec whole = job_;
    std::unique_ptr<Message> part(message->New());
    part->CopyFrom(*message);
    message->GetReflection()->ClearField(message, &field);
    const std::vector<v1::Problem> problems = Judged(job_);
    EXPECT_FALSE(problems.empty()) << field.full_name() << " of\n" << whole.DebugString();
    for (const v1::Problem& problem : problems) {
      EXPECT_FALSE(problem.path().empty() || problem.message().empty()) << field.full_name();
    }
    message->CopyFrom(*part);
  }

  v1::JobSpec job_;
};

TEST(RequiredTest, AJobThatLacksOneIsRefusedWithWords) {
  std::set<std::string> cleared;
  for (const char* text : kJobs) {
    const v1::JobSpec job = Parsed(text);
    ASSERT_EQ(TextOf(Judged(job)), "") << text;
    Clearing clearing(job);
    clearing.Run();
    cleared.insert(clearing.cleared.begin(), clearing.cleared.end());
  }
  std::set<std::string> seen;
  std::set<std::string> all;
  FindRequired(*v1::JobSpec::descriptor(), &seen, &all);
  EXPECT_EQ(cleared, all);
}

TEST(RequiredTest, FieldsThatNoOtherRuleNeedsAreNamed) {
  v1::JobSpec job = Parsed(kJobs[1]);
  job.mutable_phases(1)->mutable_run()->mutable_workloads(3)->mutable_sequence()->clear_length();
  EXPECT_EQ(TextOf(Judged(job)),
            "phases[1].run.workloads[3].sequence.length: is missing; a sequence has at least two "
            "I/Os\n");
  job = Parsed(kJobs[1]);
  job.mutable_phases(1)
      ->mutable_run()
      ->mutable_workloads(2)
      ->mutable_pattern()
      ->mutable_hot_zones()
      ->mutable_zones(0)
      ->clear_size_ratio();
  EXPECT_EQ(TextOf(Judged(job)),
            "phases[1].run.workloads[2].pattern.hot_zones.zones[0].size: is 0%, but the zone has "
            "I/Os\n");
  job = Parsed(kJobs[2]);
  job.mutable_phases(1)->mutable_run()->mutable_sweep()->mutable_until()->clear_within_ratio();
  EXPECT_EQ(TextOf(Judged(job)),
            "phases[1].run.sweep.until.within: is missing; give the largest distance from the "
            "mean\n");
}

}  // namespace
}  // namespace lockstep::controller
