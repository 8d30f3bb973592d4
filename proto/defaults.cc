#include "proto/defaults.h"

#include <cassert>
#include <string>

#include "absl/status/status.h"
#include "proto/field_text.h"
#include "proto/units.pb.h"

namespace lockstep::v1 {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool IsGiven(const Message& message, const FieldDescriptor& field) {
  return field.is_repeated() ? message.GetReflection()->FieldSize(message, &field) > 0
                             : message.GetReflection()->HasField(message, &field);
}

// Whether another field stands in this one's place.
bool IsReplaced(const FieldDescriptor& field, const Message& message) {
  const auto& options = field.options();
  for (int i = 0; i < options.ExtensionSize(default_unless); ++i) {
    const FieldDescriptor* other =
        message.GetDescriptor()->FindFieldByName(options.GetExtension(default_unless, i));
    // The option names a field of this message. A wrong name is a mistake in a .proto file, which a
    // test that leaves this field out finds.
    assert(other != nullptr);
    if (IsGiven(message, *other)) return true;
  }
  return false;
}

void FillField(const FieldDescriptor& field, Message* message) {
  const Reflection* reflection = message->GetReflection();
  const std::string& text = field.options().GetExtension(default_value);
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    if (text.empty() || IsGiven(*message, field) || IsReplaced(field, *message)) return;
    // Defaults pass through the parser of job files, so that the text in the reference is exactly
    // what a job file may say.
    [[maybe_unused]] const absl::Status set = SetFromText(field, text, message);
    assert(set.ok());
    return;
  }
  // All maps are of texts, which have no defaults of their own.
  if (field.is_map()) return;
  if (field.is_repeated()) {
    for (int i = 0; i < reflection->FieldSize(*message, &field); ++i) {
      FillDefaults(reflection->MutableRepeatedMessage(message, &field, i));
    }
    return;
  }
  // MutableMessage() would create an absent message, and that a message is present has a meaning:
  // `random: {}` is a choice.
  if (!IsGiven(*message, field) && !field.options().GetExtension(always)) return;
  FillDefaults(reflection->MutableMessage(message, &field));
}

// A choice of which nothing is chosen becomes the one that it names as its default.
void FillChoice(const google::protobuf::OneofDescriptor& choice, Message* message) {
  for (int i = 0; i < choice.field_count(); ++i) {
    const FieldDescriptor* field = choice.field(i);
    if (field->options().GetExtension(default_choice) &&
        !message->GetReflection()->HasOneof(*message, &choice)) {
      message->GetReflection()->MutableMessage(message, field);
    }
  }
}

}  // namespace

void FillDefaults(Message* message) {
  const auto* type = message->GetDescriptor();
  // Choices come first: FillField() then fills the fields of what was chosen.
  for (int i = 0; i < type->real_oneof_decl_count(); ++i) FillChoice(*type->oneof_decl(i), message);
  for (int i = 0; i < type->field_count(); ++i) FillField(*type->field(i), message);
}

}  // namespace lockstep::v1
