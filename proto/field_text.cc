#include "proto/field_text.h"

#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/text.h"
#include "common/units.h"
#include "proto/units.pb.h"

namespace lockstep::v1 {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// All units share one type, so that ranges are compared in one place. A double holds whole numbers
// exactly up to 2^53: 8 PiB, or 104 days in nanoseconds.
absl::StatusOr<double> Widened(const absl::StatusOr<int64_t>& parsed) {
  if (!parsed.ok()) return parsed.status();
  return static_cast<double>(*parsed);
}

absl::Status SetEnum(const FieldDescriptor& field, const std::string& text, Message* message) {
  std::vector<std::string> names;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    const EnumValueDescriptor* value = field.enum_type()->value(i);
    // 0 is UNSPECIFIED, which stands for a field that was not given.
    if (value->number() == 0) continue;
    names.push_back(EnumText(*value));
    // EnumText() is lower case, and a job file may have any case.
    if (names.back() != absl::AsciiStrToLower(text)) continue;
    message->GetReflection()->SetEnum(message, &field, value);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("'", common::Printable(text, 100),
                                                 "' is not one of ", absl::StrJoin(names, ", ")));
}

// The reason why a number is wrong for this field, after "'TEXT' "; empty if it is right.
std::string WrongNumber(const FieldDescriptor& field, double value) {
  const auto& options = field.options();
  if (options.HasExtension(min) && value < options.GetExtension(min)) {
    return absl::StrCat("is too small; the minimum is ",
                        NumberText(field, options.GetExtension(min)));
  }
  if (options.HasExtension(max) && value > options.GetExtension(max)) {
    // A share of 70 most likely means 70 %. For 1.5 that would be a guess, so there is no hint
    // below 2.
    const bool is_percent = options.GetExtension(unit) == UNIT_RATIO && value >= 2 && value <= 100;
    return absl::StrCat(
        "is too large; the maximum is ", NumberText(field, options.GetExtension(max)),
        is_percent ? absl::StrCat("; for ", value, " percent write ", value, "%") : "");
  }
  // The rest is for integers: the cast would cut a fraction off silently, and is undefined for a
  // number outside of the type's range.
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) return "";
  if (value < 0 && field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32) return "is negative";
  if (value != std::floor(value)) return "is not a whole number";
  // The conversion to a 64-bit integer is undefined from 2^63 on, which is 9.22e18.
  const double most = field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32 ? 4294967295.0 : 9.2e18;
  return value > most ? "is too large" : "";
}

absl::Status SetNumber(const FieldDescriptor& field, const std::string& text, Message* message) {
  const Reflection* reflection = message->GetReflection();
  const bool list = field.is_repeated();
  // Seeds use all 64 bits; a double keeps 53 of them.
  uint64_t exact = 0;
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64 && absl::SimpleAtoi(text, &exact)) {
    reflection->SetUInt64(message, &field, exact);
    return absl::OkStatus();
  }
  const auto parsed = NumberFromText(field, text);
  if (!parsed.ok()) return parsed.status();
  const double value = *parsed;
  if (const std::string wrong = WrongNumber(field, value); !wrong.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("'", common::Printable(text, 100), "' ", wrong));
  }
  // Only these two types stand in lists that are set by text. For a repeated field the Set
  // functions of protobuf's reflection end the program.
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      list ? reflection->AddDouble(message, &field, value)
           : reflection->SetDouble(message, &field, value);
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      list ? reflection->AddUInt32(message, &field, static_cast<uint32_t>(value))
           : reflection->SetUInt32(message, &field, static_cast<uint32_t>(value));
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      reflection->SetUInt64(message, &field, static_cast<uint64_t>(value));
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      reflection->SetInt64(message, &field, static_cast<int64_t>(value));
      break;
    default:
      return absl::InvalidArgumentError("cannot be set in a job file");
  }
  return absl::OkStatus();
}

}  // namespace

std::string EnumText(const EnumValueDescriptor& value) {
  // The enumerators of protobuf share the scope around their enum, as in C++. Each therefore begins
  // with the name of its enum, which a job file need not repeat.
  const std::string& type = value.type()->name();
  std::string prefix;
  for (size_t i = 0; i < type.size(); ++i) {
    if (i > 0 && absl::ascii_isupper(type[i])) prefix += '_';
    prefix += absl::ascii_toupper(type[i]);
  }
  return absl::AsciiStrToLower(absl::StripPrefix(value.name(), prefix + "_"));
}

std::string NumberText(const FieldDescriptor& field, double value) {
  switch (field.options().GetExtension(unit)) {
    case UNIT_BYTES:
      return common::FormatSize(value);
    case UNIT_DURATION_NS:
      return common::FormatDuration(value);
    case UNIT_RATIO:
      // 0.07 * 100 is 7.000000000000001 in a double. Ten digits cut such noise off.
      return absl::StrFormat("%.10g%%", value * 100);
    default:
      // A double keeps 15 decimal digits for certain. With 17, 0.1 would be shown as
      // 0.10000000000000001.
      return absl::StrFormat("%.15g", value);
  }
}

absl::StatusOr<double> NumberFromText(const FieldDescriptor& field, const std::string& text) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_BOOL:
    case FieldDescriptor::CPPTYPE_ENUM:
      return absl::InvalidArgumentError(absl::StrCat(field.name(), " is no number"));
    default:
      break;
  }
  switch (field.options().GetExtension(unit)) {
    case UNIT_BYTES:
      return Widened(common::ParseSize(text));
    case UNIT_DURATION_NS:
      return Widened(common::ParseDuration(text));
    case UNIT_RATIO:
      return common::ParseRatio(text);
    // A rate is often written without /s, as in fio's job files.
    case UNIT_BYTES_PER_SECOND:
      return Widened(common::ParseSize(std::string(absl::StripSuffix(text, "/s"))));
    default:
      return common::ParseCount(text);
  }
}

absl::Status SetFromText(const FieldDescriptor& field, const std::string& text, Message* message) {
  const Reflection* reflection = message->GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      field.is_repeated() ? reflection->AddString(message, &field, text)
                          : reflection->SetString(message, &field, text);
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_BOOL:
      // The YAML reader has turned the other words of YAML, such as yes and off, into these two
      // (controller/cli/yaml_reader.cc).
      if (text != "true" && text != "false") {
        return absl::InvalidArgumentError(
            absl::StrCat("'", common::Printable(text, 100), "' is not true or false"));
      }
      reflection->SetBool(message, &field, text == "true");
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_ENUM:
      return SetEnum(field, text, message);
    default:
      return SetNumber(field, text, message);
  }
}

absl::Status ChooseFromText(const std::string& text, Message* message) {
  const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(text);
  // An `optional` field of proto3 stands in a oneof that protobuf makes for it. This oneof is no
  // choice, and real_containing_oneof() leaves it out.
  if (field == nullptr || field->real_containing_oneof() == nullptr ||
      field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    return absl::NotFoundError(
        absl::StrCat("'", common::Printable(text, 100), "' is not one of the choices"));
  }
  // To make the message is to choose it, even if it stays empty.
  message->GetReflection()->MutableMessage(message, field);
  return absl::OkStatus();
}

}  // namespace lockstep::v1
