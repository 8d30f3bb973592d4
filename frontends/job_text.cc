// A translated job as a job file, with the origin of each line beside it.
//
// The text is not read back: YAML takes several times as long to read as the translation itself.
// The writer says what a reader would find, and tests read back every job that they translate.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/text.h"
#include "frontends/frontend.h"
#include "proto/field_text.h"
#include "proto/fields.h"
#include "proto/units.pb.h"

namespace lockstep::frontends {
namespace {

using google::protobuf::FieldDescriptor;
using ProtoMessage = google::protobuf::Message;  // a frontend has messages of its own
using google::protobuf::Reflection;

// A whole number with the largest unit that divides it, so that it is read back exactly.
std::string WithUnit(int64_t value, const std::vector<std::pair<int64_t, const char*>>& units) {
  for (const auto& [factor, unit] : units) {
    if (value != 0 && value % factor == 0) return absl::StrCat(value / factor, unit);
  }
  return absl::StrCat(value);
}

std::string SizeText(int64_t bytes) {
  return WithUnit(bytes, {{int64_t{1} << 40, "TiB"},
                          {int64_t{1} << 30, "GiB"},
                          {int64_t{1} << 20, "MiB"},
                          {int64_t{1} << 10, "KiB"}});
}

// 17 digits give every double back; most need fewer.
std::string DecimalText(double value) {
  for (int digits = 6; digits < 17; ++digits) {
    std::string text = absl::StrFormat("%.*g", digits, value);
    double back = 0;
    if (absl::SimpleAtod(text, &back) && back == value) return text;
  }
  return absl::StrFormat("%.17g", value);
}

// Whether YAML reads it as a text without quotes.
bool IsPlain(const std::string& text) {
  static const auto* const kWords = new std::set<std::string>{
      "true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan"};
  // A text that begins with a digit would be read as a number.
  if (text.empty() || !(absl::ascii_isalpha(text[0]) || text[0] == '/')) return false;
  for (const char c : text) {
    if (!absl::ascii_isalnum(c) && absl::string_view("_./-").find(c) == absl::string_view::npos) {
      return false;
    }
  }
  return !kWords->contains(absl::AsciiStrToLower(text));
}

std::string QuotedText(const std::string& text) {
  if (IsPlain(text)) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    // A control character would end the line, or the quotes.
    if (absl::ascii_iscntrl(c)) {
      absl::StrAppendFormat(&quoted, "\\x%02x", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string IntegerText(const FieldDescriptor& field, int64_t value) {
  switch (field.options().GetExtension(v1::unit)) {
    case v1::UNIT_BYTES:
      return SizeText(value);
    case v1::UNIT_DURATION_NS:
      return WithUnit(value, {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}});
    default:
      return absl::StrCat(value);
  }
}

std::string RealText(const FieldDescriptor& field, double value) {
  switch (field.options().GetExtension(v1::unit)) {
    case v1::UNIT_RATIO:
      // Shares come from percentages, of which a binary fraction is off by some 1e-16.
      return absl::StrFormat("%.10g%%", value * 100);
    case v1::UNIT_BYTES_PER_SECOND:
      // The field takes whole bytes.
      return SizeText(std::llround(std::clamp(value, 1.0, 9e18))) + "/s";
    default:
      return DecimalText(value);
  }
}

// Whether a reader may have another number than the one that the text was made of. A reader keeps
// numbers in a double, which is exact up to 2^53.
bool MayBeRounded(const ProtoMessage& message, const FieldDescriptor& field) {
  constexpr int64_t kMaxExact = int64_t{1} << 53;
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) return true;
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_INT64 || field.is_repeated()) return false;
  const int64_t value = message.GetReflection()->GetInt64(message, &field);
  return value > kMaxExact || value < -kMaxExact;
}

// Sets the number to the one that a reader has from its text. `i`: of an item of a list.
void SetAsRead(const std::string& text, const FieldDescriptor& field, int i,
               ProtoMessage* message) {
  const std::unique_ptr<ProtoMessage> read(message->New());
  // A number out of its range stays as it is: CheckFields() finds it.
  if (!v1::SetFromText(field, text, read.get()).ok()) return;
  const Reflection* r = message->GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
    r->SetInt64(message, &field, r->GetInt64(*read, &field));
  } else if (field.is_repeated()) {
    r->SetRepeatedDouble(message, &field, i, r->GetRepeatedDouble(*read, &field, 0));
  } else {
    r->SetDouble(message, &field, r->GetDouble(*read, &field));
  }
}

// The value of a field that is no message; of item `i` where it is a list.
std::string ValueText(const ProtoMessage& message, const FieldDescriptor& field, int i) {
  const Reflection* r = message.GetReflection();
  const bool list = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return QuotedText(list ? r->GetRepeatedString(message, &field, i)
                             : r->GetString(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return r->GetBool(message, &field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return v1::EnumText(*r->GetEnum(message, &field));
    case FieldDescriptor::CPPTYPE_INT64:
      return IntegerText(field, r->GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(r->GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(list ? r->GetRepeatedUInt32(message, &field, i)
                               : r->GetUInt32(message, &field));
    default:
      return RealText(
          field, list ? r->GetRepeatedDouble(message, &field, i) : r->GetDouble(message, &field));
  }
}

// The text of a value, which becomes the one that a reader has from it.
std::string TakeText(const FieldDescriptor& field, int i, ProtoMessage* message) {
  std::string text = ValueText(*message, field, i);
  if (MayBeRounded(*message, field)) SetAsRead(text, field, i, message);
  return text;
}

std::vector<const FieldDescriptor*> SetFields(const ProtoMessage& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

class Writer {
 public:
  Writer(const Translation& translation, JobText* out) : translation_(translation), out_(out) {
    out_->job = translation.job;
  }

  void Comment(const std::string& text) { Line("# " + common::Printable(text, 300), ""); }

  void Job() {
    NoteNextLine("");
    Fields(&out_->job, "", 0, "");
  }

 private:
  // `first`: what stands before the first field, in place of spaces of the same length.
  void Fields(ProtoMessage* message, const std::string& path, size_t indent, std::string first) {
    for (const FieldDescriptor* field : SetFields(*message)) {
      const std::string name = v1::JobFieldName(*field);
      // This path is also the key of the field's origin.
      const std::string here = absl::StrCat(path, path.empty() ? "" : ".", name);
      const std::string start =
          (first.empty() ? std::string(indent, ' ') : std::exchange(first, "")) + name + ":";
      if (field->is_map()) {
        Map(*message, *field, here, indent, start);
      } else if (field->is_repeated()) {
        List(message, *field, here, indent, start);
      } else if (field->message_type() == nullptr) {
        Line(absl::StrCat(start, " ", TakeText(*field, 0, message)), here);
      } else {
        Nested(message->GetReflection()->MutableMessage(message, field), here, indent, start);
      }
    }
  }

  void Nested(ProtoMessage* child, const std::string& path, size_t indent,
              const std::string& start) {
    const auto fields = SetFields(*child);
    if (fields.empty()) return Line(start, path);
    // A choice that needs nothing more is written as its name: `pattern: random`.
    const bool is_choice = fields.size() == 1 && fields[0]->message_type() != nullptr &&
                           !fields[0]->is_repeated() && fields[0]->containing_oneof() != nullptr;
    if (is_choice && SetFields(child->GetReflection()->GetMessage(*child, fields[0])).empty()) {
      return Line(absl::StrCat(start, " ", v1::JobFieldName(*fields[0])), path);
    }
    Line(start, path);
    NoteNextLine(path);
    Fields(child, path, indent + 2, "");
  }

  // A map of texts, such as labels.
  void Map(const ProtoMessage& message, const FieldDescriptor& field, const std::string& path,
           size_t indent, const std::string& start) {
    struct Entry {
      std::string key, value;
    };
    std::map<std::string, Entry> entries;  // by their whole names: a path has their beginnings
    const FieldDescriptor& key = *field.message_type()->map_key();
    const FieldDescriptor& value = *field.message_type()->map_value();
    const Reflection* r = message.GetReflection();
    for (int i = 0; i < r->FieldSize(message, &field); ++i) {
      const ProtoMessage& entry = r->GetRepeatedMessage(message, &field, i);
      const std::string name = entry.GetReflection()->GetString(entry, &key);
      entries[name] = {ValueText(entry, key, 0), ValueText(entry, value, 0)};
    }
    Line(start, path);
    for (const auto& [name, entry] : entries) {
      Line(absl::StrCat(std::string(indent + 2, ' '), entry.key, ": ", entry.value),
           absl::StrCat(path, ".", common::Printable(name, 100)));
    }
  }

  void List(ProtoMessage* message, const FieldDescriptor& field, const std::string& path,
            size_t indent, const std::string& start) {
    const Reflection* r = message->GetReflection();
    const int count = r->FieldSize(*message, &field);
    if (field.message_type() == nullptr) {
      return Line(absl::StrCat(start, " ", Values(message, field)), path);
    }
    Line(start, path);
    for (int i = 0; i < count; ++i) {
      ProtoMessage* item = r->MutableRepeatedMessage(message, &field, i);
      const std::string here = absl::StrCat(path, "[", i, "]");
      const std::string dash = std::string(indent + 2, ' ') + "- ";
      // An item with a name is long: it gets a line for each field, others one line in all.
      if (item->GetDescriptor()->FindFieldByName("name") != nullptr && !SetFields(*item).empty()) {
        NoteNextLine(here);
        Fields(item, here, indent + 4, dash);
      } else {
        Line(absl::StrCat(dash, Flow(item)), here);
      }
    }
  }

  // [1, 2]
  static std::string Values(ProtoMessage* message, const FieldDescriptor& field) {
    std::string items;
    const int count = message->GetReflection()->FieldSize(*message, &field);
    for (int i = 0; i < count; ++i) {
      absl::StrAppend(&items, i == 0 ? "" : ", ", TakeText(field, i, message));
    }
    return absl::StrCat("[", items, "]");
  }

  // {block_size: 4KiB, weight: 70, io_priority: {class: idle}}
  static std::string Flow(ProtoMessage* item) {
    std::string text;
    for (const FieldDescriptor* field : SetFields(*item)) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", v1::JobFieldName(*field), ": ",
                      field->is_repeated() ? Values(item, *field)
                      : field->message_type() != nullptr
                          ? Flow(item->GetReflection()->MutableMessage(item, field))
                          : TakeText(*field, 0, item));
    }
    return absl::StrCat("{", text, "}");
  }

  // A message stands where its first field does, an item of a list where its dash is.
  void NoteNextLine(const std::string& path) { out_->lines[path] = line_ + 1; }

  void Line(const std::string& text, const std::string& path) {
    ++line_;
    if (!path.empty()) out_->lines[path] = line_;
    out_->yaml += text;
    const auto found = path.empty() ? translation_.origins.end() : translation_.origins.find(path);
    if (found != translation_.origins.end()) {
      const Origin& origin = found->second;
      out_->origins[line_] = origin;
      absl::StrAppend(&out_->yaml, "  # ", common::Printable(origin.option, 200));
      if (origin.line > 0) {
        const std::string base = origin.file.substr(origin.file.rfind('/') + 1);
        absl::StrAppend(&out_->yaml, " (", common::Printable(base, 200), ":", origin.line, ")");
      }
    }
    out_->yaml += '\n';
  }

  const Translation& translation_;
  JobText* out_;
  int line_ = 0;
};

}  // namespace

std::vector<std::string> CommentsOf(const Translation& translation, const std::string& source) {
  std::vector<std::string> comments{"Translated from " + source + "."};
  for (const frontends::Message& remark : translation.remarks) {
    comments.push_back(MessageText(remark));
  }
  return comments;
}

JobText WriteJob(const Translation& translation, const std::vector<std::string>& comments) {
  JobText text;
  Writer writer(translation, &text);
  for (const std::string& comment : comments) writer.Comment(comment);
  writer.Job();
  return text;
}

JobText WriteJob(const Translation& translation, const std::string& source) {
  return WriteJob(translation, CommentsOf(translation, source));
}

}  // namespace lockstep::frontends
