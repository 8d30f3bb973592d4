#include "proto/defaults.h"

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "proto/field_text.h"
#include "proto/fields.h"
#include "proto/job.pb.h"
#include "proto/units.pb.h"

namespace lockstep::v1 {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

void ForEachMessage(const Descriptor& type, std::set<const Descriptor*>* seen,
                    const std::function<void(const Descriptor&)>& call) {
  if (!seen->insert(&type).second) return;
  call(type);
  for (int i = 0; i < type.field_count(); ++i) {
    const Descriptor* next = type.field(i)->message_type();
    if (next != nullptr) ForEachMessage(*next, seen, call);
  }
}

TEST(Defaults, EveryOneIsAValueThatItsFieldTakes) {
  std::set<const Descriptor*> seen;
  int defaults = 0;
  ForEachMessage(*JobSpec::descriptor(), &seen, [&](const Descriptor& type) {
    const auto* factory = google::protobuf::MessageFactory::generated_factory();
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      const std::string& text = field.options().GetExtension(default_value);
      if (text.empty()) continue;
      ++defaults;
      ASSERT_FALSE(field.is_repeated()) << field.full_name();
      ASSERT_EQ(field.real_containing_oneof(), nullptr) << field.full_name();
      EXPECT_EQ(field.options().GetExtension(default_is), "") << field.full_name();
      std::unique_ptr<google::protobuf::Message> message(
          const_cast<google::protobuf::MessageFactory*>(factory)->GetPrototype(&type)->New());
      EXPECT_TRUE(SetFromText(field, text, message.get()).ok()) << field.full_name();
      EXPECT_EQ(FirstProblem(*message), "") << field.full_name();
      for (int j = 0; j < field.options().ExtensionSize(default_unless); ++j) {
        EXPECT_NE(type.FindFieldByName(field.options().GetExtension(default_unless, j)), nullptr);
      }
    }
  });
  EXPECT_GT(defaults, 40);
}

TEST(Defaults, OnlyMessagesAreAlwaysThereAndOneChoiceIsTheDefault) {
  std::set<const Descriptor*> seen;
  ForEachMessage(*JobSpec::descriptor(), &seen, [&](const Descriptor& type) {
    std::set<const google::protobuf::OneofDescriptor*> chosen;
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      const bool message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
      if (field.options().GetExtension(always)) {
        EXPECT_TRUE(message && !field.is_repeated()) << field.full_name();
      }
      if (!field.options().GetExtension(default_choice)) continue;
      ASSERT_NE(field.real_containing_oneof(), nullptr) << field.full_name();
      EXPECT_TRUE(message && chosen.insert(field.real_containing_oneof()).second)
          << field.full_name();
    }
  });
}

TEST(Defaults, FillAnEmptyWorkload) {
  Workload w;
  FillDefaults(&w);
  EXPECT_EQ(w.threads(), 1);
  EXPECT_EQ(w.queue_depth(), 1);
  EXPECT_EQ(w.block_size_bytes(), 4096);
  EXPECT_TRUE(w.pattern().has_random());
  EXPECT_TRUE(w.has_closed_loop());
  EXPECT_EQ(w.read_ratio(), 1);
  EXPECT_TRUE(w.direct());
  EXPECT_EQ(w.engine(), ENGINE_IO_URING);
  EXPECT_EQ(w.stuck_after_ns(), 10'000'000'000);
  EXPECT_EQ(w.content().compressed_ratio(), 1);
  EXPECT_FALSE(w.has_fsync()) << "absent messages stay absent";
  Workload again = w;
  FillDefaults(&again);
  EXPECT_EQ(again.SerializeAsString(), w.SerializeAsString());
}

TEST(Defaults, LeaveWhatIsGiven) {
  Workload w;
  w.set_queue_depth(32);
  w.set_read_ratio(0);
  w.set_direct(false);
  w.set_engine(ENGINE_SYNC);
  w.mutable_pattern()->mutable_zipf()->set_theta(1.2);
  w.mutable_open_loop()->set_rate_per_second(10);
  FillDefaults(&w);
  EXPECT_EQ(w.queue_depth(), 32);
  EXPECT_EQ(w.read_ratio(), 0) << "given, though 0: the field has presence";
  EXPECT_FALSE(w.direct());
  EXPECT_EQ(w.engine(), ENGINE_SYNC);
  EXPECT_EQ(w.pattern().zipf().theta(), 1.2);
  EXPECT_EQ(w.open_loop().arrival(), ARRIVAL_POISSON) << "filled beneath what is given";
}

TEST(Defaults, ASizeIsNotFilledInBesideSizesOfAnotherKind) {
  Workload sizes;
  sizes.add_block_sizes()->set_block_size_bytes(8192);
  FillDefaults(&sizes);
  EXPECT_EQ(sizes.block_size_bytes(), 0);
  EXPECT_EQ(sizes.block_sizes(0).weight(), 1);
  Workload lines;
  lines.add_access()->set_block_size_bytes(8192);
  FillDefaults(&lines);
  EXPECT_EQ(lines.block_size_bytes(), 0);
  EXPECT_EQ(lines.access(0).read_ratio(), 1);
}

TEST(FieldText, SaysWhatIsWrongWithAText) {
  Workload w;
  const auto set = [&](const char* name, const char* text) {
    return std::string(
        SetFromText(*Workload::descriptor()->FindFieldByName(name), text, &w).message());
  };
  EXPECT_EQ(set("block_size_bytes", "128MiB"), "'128MiB' is too large; the maximum is 64 MiB");
  EXPECT_EQ(set("threads", "1.5"), "'1.5' is not a whole number");
  EXPECT_EQ(set("direct", "maybe"), "'maybe' is not true or false");
  EXPECT_EQ(set("write_through", "often"), "'often' is not one of none, sync, dsync");
  EXPECT_EQ(set("read_ratio", "70%"), "");
  EXPECT_DOUBLE_EQ(w.read_ratio(), 0.7);
  Pattern pattern;
  EXPECT_TRUE(ChooseFromText("shuffled", &pattern).ok());
  EXPECT_TRUE(pattern.has_shuffled());
  EXPECT_FALSE(ChooseFromText("sideways", &pattern).ok());
}

}  // namespace
}  // namespace lockstep::v1
