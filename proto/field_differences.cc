#include "proto/field_differences.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "proto/field_text.h"
#include "proto/fields.h"

namespace lockstep::v1 {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Longer texts are cut: what is compared is shown on a line.
constexpr size_t kMaxShown = 60;
// The text of a message, which says something by being there: `sequential: {}`.
constexpr char kThere[] = "there";

using Texts = std::map<std::string, std::string>;  // by path

std::string TextAt(const Message& message, const FieldDescriptor& field, int item) {
  const Reflection* r = message.GetReflection();
  const bool list = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return list ? r->GetRepeatedString(message, &field, item) : r->GetString(message, &field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return (list ? r->GetRepeatedBool(message, &field, item) : r->GetBool(message, &field))
                 ? "true"
                 : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumText(list ? *r->GetRepeatedEnum(message, &field, item)
                           : *r->GetEnum(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return NumberText(field, list ? r->GetRepeatedDouble(message, &field, item)
                                    : r->GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return NumberText(field, list ? r->GetRepeatedUInt32(message, &field, item)
                                    : r->GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_INT64:
      return NumberText(field, static_cast<double>(list ? r->GetRepeatedInt64(message, &field, item)
                                                        : r->GetInt64(message, &field)));
    case FieldDescriptor::CPPTYPE_UINT64:
      // Seeds use all 64 bits, which a double does not keep.
      return absl::StrCat(list ? r->GetRepeatedUInt64(message, &field, item)
                               : r->GetUInt64(message, &field));
    default:
      return "?";
  }
}

// An item is shown under its name where it has one: by positions, an item that is inserted at the
// front would make all later ones differ.
std::string NameOf(const Message& message) {
  const FieldDescriptor* name = message.GetDescriptor()->FindFieldByName("name");
  const bool has = name != nullptr && !name->is_repeated() &&
                   name->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  return has ? message.GetReflection()->GetString(message, name) : "";
}

// The key of an entry of a map. Entries come in no order, so that their numbers say nothing.
std::string KeyOf(const Message& entry) {
  return TextAt(entry, *entry.GetDescriptor()->FindFieldByName("key"), 0);
}

void Collect(const Message& message, const std::string& prefix, Texts* texts);

void CollectField(const Message& message, const FieldDescriptor& field, const std::string& prefix,
                  Texts* texts) {
  const Reflection* r = message.GetReflection();
  const std::string path = absl::StrCat(prefix, prefix.empty() ? "" : ".", JobFieldName(field));
  const int size = field.is_repeated() ? r->FieldSize(message, &field) : 1;
  for (int i = 0; i < size; ++i) {
    const std::string at = field.is_repeated() ? absl::StrCat(path, "[", i, "]") : path;
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      (*texts)[at] = TextAt(message, field, i);
      continue;
    }
    const Message& inner = field.is_repeated() ? r->GetRepeatedMessage(message, &field, i)
                                               : r->GetMessage(message, &field);
    const std::string name = field.is_map()        ? KeyOf(inner)
                             : field.is_repeated() ? NameOf(inner)
                                                   : "";
    const std::string below = name.empty() ? at : absl::StrCat(path, ".", name);
    (*texts)[below] = kThere;
    // The recursion ends, because protobuf refuses to parse messages that are nested more than 100
    // deep.
    Collect(inner, below, texts);
  }
}

void Collect(const Message& message, const std::string& prefix, Texts* texts) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) CollectField(message, *field, prefix, texts);
}

// Whether a message that a path is in is there on one side alone: then that is said, once.
bool IsBelowAny(const std::string& path, const std::set<std::string>& shown) {
  for (size_t end = path.find_last_of(".["); end != std::string::npos && end > 0;
       end = path.find_last_of(".[", end - 1)) {
    if (shown.contains(path.substr(0, end))) return true;
  }
  return false;
}

}  // namespace

std::vector<FieldDifference> DifferingFields(const Message& before, const Message& after) {
  Texts of_before;
  Texts of_after;
  Collect(before, "", &of_before);
  Collect(after, "", &of_after);
  std::map<std::string, std::pair<std::string, std::string>> both;
  // Both sides are compared by path, not walked in parallel: a named item has the same path on
  // either side, in whatever order the lists are.
  for (const auto& [path, text] : of_before) both[path] = {text, "-"};
  for (const auto& [path, text] : of_after) {
    both.try_emplace(path, "-", "-").first->second.second = text;
  }
  std::vector<FieldDifference> differences;
  // `mix-2` sorts between `mix` and `mix.run`: those shown are looked up, not only the last one.
  std::set<std::string> shown;
  for (const auto& [path, texts] : both) {
    if (texts.first == texts.second || IsBelowAny(path, shown)) continue;
    if (texts.first == kThere || texts.second == kThere) shown.insert(path);
    differences.push_back({path, common::Printable(texts.first, kMaxShown),
                           common::Printable(texts.second, kMaxShown)});
  }
  return differences;
}

std::vector<std::string> FieldDifferences(const Message& before, const Message& after) {
  std::vector<std::string> texts;
  for (const FieldDifference& d : DifferingFields(before, after)) {
    texts.push_back(absl::StrCat(d.path, ": ", d.before, " → ", d.after));
  }
  return texts;
}

}  // namespace lockstep::v1
