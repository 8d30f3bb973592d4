#include "proto/fields.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "proto/field_text.h"
#include "proto/units.pb.h"

namespace lockstep::v1 {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// A message from outside may have thousands of wrong items, and its answer must not have thousands
// of lines. The number is also that of limits::kJobProblems.
constexpr size_t kMaxProblems = 20;
// proto/units.proto documents these two. Every text and list has a limit, also where its field
// names none, because the messages come from other machines.
constexpr uint32_t kTextLimit = 4096;
constexpr uint32_t kCountLimit = 1000;
// For fields without a range of their own. 3.2e17 ns are ten years. Two sizes of 4.6e18 bytes still
// add up below 2^63.
constexpr double kMaxNs = 3.2e17;
constexpr double kMaxBytes = 4.6e18;

class Checker {
 public:
  std::vector<FieldProblem> problems;

  void Check(const Message& message, const std::string& path) {
    const Reflection* reflection = message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    // ListFields() leaves out fields without presence that are 0: `min` does not apply to them.
    reflection->ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (problems.size() >= kMaxProblems) return;
      const std::string name = JobFieldName(*field);
      CheckField(message, *field, path.empty() ? name : absl::StrCat(path, ".", name));
    }
  }

 private:
  void Add(const std::string& path, const std::string& text) {
    if (problems.size() < kMaxProblems) problems.push_back({path, text});
  }

  void CheckField(const Message& message, const FieldDescriptor& field, const std::string& path) {
    if (!field.is_repeated()) return CheckValue(message, field, -1, path);
    const int size = message.GetReflection()->FieldSize(message, &field);
    // The items of a list that is too long are not checked: that would take as long as the sender
    // wants.
    if (static_cast<uint32_t>(size) > CountLimit(field)) {
      return Add(path, absl::StrCat("has ", size, " items; the maximum is ", CountLimit(field)));
    }
    for (int i = 0; i < size && problems.size() < kMaxProblems; ++i) {
      if (field.is_map()) {
        CheckEntry(message.GetReflection()->GetRepeatedMessage(message, &field, i), field, path);
      } else {
        CheckValue(message, field, i, absl::StrCat(path, "[", i, "]"));
      }
    }
  }

  // A map's keys and values have the map's own limit. The path of a value ends with its key.
  void CheckEntry(const Message& entry, const FieldDescriptor& map, const std::string& path) {
    std::string here = path;
    for (const char* part : {"key", "value"}) {
      const FieldDescriptor* field = entry.GetDescriptor()->FindFieldByName(part);
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) continue;
      const std::string text = entry.GetReflection()->GetString(entry, field);
      CheckText(text, map, here);
      here = absl::StrCat(path, ".", common::Printable(text, 100));
    }
  }

  void CheckText(const std::string& text, const FieldDescriptor& field, const std::string& path) {
    if (text.size() > LengthLimit(field)) {
      return Add(path,
                 absl::StrCat("has ", text.size(), " bytes; the maximum is ", LengthLimit(field)));
    }
    // Fields of bytes have the C++ type of texts, but any content.
    if (field.type() == FieldDescriptor::TYPE_BYTES) return;
    const bool is_plain = field.options().GetExtension(multiline) ? common::IsPlainText(text)
                                                                  : common::IsPlainLine(text);
    if (!is_plain) {
      Add(path, absl::StrCat("'", common::Printable(text, 60),
                             "' has control characters, or is not UTF-8"));
    }
  }

  void CheckNumber(double value, const FieldDescriptor& field, const std::string& path) {
    const auto& options = field.options();
    // A NaN would pass each of the comparisons below.
    if (!std::isfinite(value)) return Add(path, "is not a finite number");
    const Unit kind = options.GetExtension(unit);
    const bool is_amount = kind != UNIT_UNSPECIFIED;
    if (options.HasExtension(min) && value < options.GetExtension(min)) {
      return Add(path, absl::StrCat(NumberText(field, value), " is too small; the minimum is ",
                                    NumberText(field, options.GetExtension(min))));
    }
    // No size, duration, share or rate is negative. Fields with a unit need no `min` of 0 for that.
    if (is_amount && value < 0) return Add(path, "is negative");
    const double most = options.HasExtension(max)  ? options.GetExtension(max)
                        : kind == UNIT_DURATION_NS ? kMaxNs
                        : kind == UNIT_BYTES       ? kMaxBytes
                                                   : INFINITY;
    if (value > most) {
      Add(path, absl::StrCat(NumberText(field, value), " is too large; the maximum is ",
                             NumberText(field, most)));
    }
  }

  void CheckEnum(int value, const FieldDescriptor& field, const std::string& path) {
    // Enums of proto3 are open: parsing keeps a number that this version has no name for, as a
    // newer sender may write it.
    if (field.enum_type()->FindValueByNumber(value) == nullptr) {
      Add(path, absl::StrCat("has the value ", value, ", which this version does not know"));
    }
  }

  // Item `index` of a list, or the field itself when -1.
  void CheckValue(const Message& message, const FieldDescriptor& field, int index,
                  const std::string& path) {
    const Reflection* r = message.GetReflection();
    const bool list = index >= 0;
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Check(
            list ? r->GetRepeatedMessage(message, &field, index) : r->GetMessage(message, &field),
            path);
      case FieldDescriptor::CPPTYPE_STRING:
        return CheckText(
            list ? r->GetRepeatedString(message, &field, index) : r->GetString(message, &field),
            field, path);
      case FieldDescriptor::CPPTYPE_ENUM:
        return CheckEnum(list ? r->GetRepeatedEnumValue(message, &field, index)
                              : r->GetEnumValue(message, &field),
                         field, path);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return CheckNumber(
            list ? r->GetRepeatedDouble(message, &field, index) : r->GetDouble(message, &field),
            field, path);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return CheckNumber(
            list ? r->GetRepeatedFloat(message, &field, index) : r->GetFloat(message, &field),
            field, path);
      case FieldDescriptor::CPPTYPE_INT64:
        return CheckNumber(static_cast<double>(list ? r->GetRepeatedInt64(message, &field, index)
                                                    : r->GetInt64(message, &field)),
                           field, path);
      case FieldDescriptor::CPPTYPE_UINT64:
        return CheckNumber(static_cast<double>(list ? r->GetRepeatedUInt64(message, &field, index)
                                                    : r->GetUInt64(message, &field)),
                           field, path);
      case FieldDescriptor::CPPTYPE_INT32:
        return CheckNumber(
            list ? r->GetRepeatedInt32(message, &field, index) : r->GetInt32(message, &field),
            field, path);
      case FieldDescriptor::CPPTYPE_UINT32:
        return CheckNumber(
            list ? r->GetRepeatedUInt32(message, &field, index) : r->GetUInt32(message, &field),
            field, path);
      case FieldDescriptor::CPPTYPE_BOOL:
        return;
    }
  }
};

}  // namespace

uint32_t LengthLimit(const FieldDescriptor& field) {
  return field.options().HasExtension(max_length) ? field.options().GetExtension(max_length)
                                                  : kTextLimit;
}

uint32_t CountLimit(const FieldDescriptor& field) {
  return field.options().HasExtension(max_count) ? field.options().GetExtension(max_count)
                                                 : kCountLimit;
}

std::string JobFieldName(const FieldDescriptor& field) {
  std::string suffix;
  switch (field.options().GetExtension(unit)) {
    case UNIT_BYTES:
      suffix = "_bytes";
      break;
    case UNIT_DURATION_NS:
      suffix = "_ns";
      break;
    case UNIT_RATIO:
      suffix = "_ratio";
      break;
    case UNIT_COUNT:
      suffix = "_per_second";
      break;
    case UNIT_BYTES_PER_SECOND:
      suffix = "_bytes_per_second";
      break;
    default:
      break;
  }
  const std::string& name = field.name();
  const bool has = !suffix.empty() && name.size() > suffix.size() &&
                   name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
  return has ? name.substr(0, name.size() - suffix.size()) : name;
}

const FieldDescriptor* FindJobField(const google::protobuf::Descriptor& message,
                                    const std::string& name) {
  for (int i = 0; i < message.field_count(); ++i) {
    if (JobFieldName(*message.field(i)) == name) return message.field(i);
  }
  return nullptr;
}

std::vector<FieldProblem> CheckFields(const Message& message) {
  Checker checker;
  checker.Check(message, "");
  return std::move(checker.problems);
}

std::string FirstProblem(const Message& message) {
  const std::vector<FieldProblem> problems = CheckFields(message);
  return problems.empty() ? "" : absl::StrCat(problems[0].path, ": ", problems[0].message);
}

std::string CutLists(Message* message) {
  const Reflection* r = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  r->ListFields(*message, &fields);
  std::string first;
  const auto note = [&first](const std::string& cut) {
    if (first.empty()) first = cut;
  };
  for (const FieldDescriptor* field : fields) {
    const std::string name = JobFieldName(*field);
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!field->is_repeated()) {
      const std::string cut = is_message ? CutLists(r->MutableMessage(message, field)) : "";
      if (!cut.empty()) note(absl::StrCat(name, ".", cut));
      continue;
    }
    const int size = r->FieldSize(*message, field);
    const int limit = static_cast<int>(CountLimit(*field));
    if (size > limit)
      note(absl::StrCat(name, " has ", size, " items: the first ", limit, " are kept"));
    for (int i = size; i > limit; --i) r->RemoveLast(message, field);
    if (!is_message || field->is_map()) continue;
    for (int i = 0; i < r->FieldSize(*message, field); ++i) {
      const std::string cut = CutLists(r->MutableRepeatedMessage(message, field, i));
      if (!cut.empty()) note(absl::StrCat(name, "[", i, "].", cut));
    }
  }
  return first;
}

void CleanTexts(Message* message) {
  const auto clean = [](const std::string& text, const FieldDescriptor& field) {
    return field.options().GetExtension(multiline)
               ? common::PrintableLines(text, LengthLimit(field))
               : common::Printable(text, LengthLimit(field));
  };
  const Reflection* r = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  r->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    // Fields of bytes have another type here and stay as they are: to escape them would change
    // them.
    if (field->type() == FieldDescriptor::TYPE_STRING) {
      if (field->is_repeated()) {
        for (int i = 0; i < r->FieldSize(*message, field); ++i) {
          r->SetRepeatedString(message, field, i,
                               clean(r->GetRepeatedString(*message, field, i), *field));
        }
      } else {
        r->SetString(message, field, clean(r->GetString(*message, field), *field));
      }
    } else if (field->is_map()) {
      // Entries of a map cannot be changed one by one: those with a text that is not clean go. From
      // the end, because the entry that takes a removed one's place has then been checked.
      for (int i = r->FieldSize(*message, field) - 1; i >= 0; --i) {
        Checker checker;
        checker.Check(r->GetRepeatedMessage(*message, field, i), "");
        if (checker.problems.empty()) continue;
        r->SwapElements(message, field, i, r->FieldSize(*message, field) - 1);
        r->RemoveLast(message, field);
      }
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!field->is_repeated()) {
        CleanTexts(r->MutableMessage(message, field));
        continue;
      }
      for (int i = 0; i < r->FieldSize(*message, field); ++i) {
        CleanTexts(r->MutableRepeatedMessage(message, field, i));
      }
    }
  }
}

}  // namespace lockstep::v1
