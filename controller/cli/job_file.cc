#include "controller/cli/job_file.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/units.h"
#include "proto/job.pb.h"
#include "proto/units.pb.h"
#include "yaml-cpp/yaml.h"

namespace lockstep::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

std::string EnumText(const EnumValueDescriptor& value) {
  // SHARING_SLICED of the enum Sharing reads as `sliced`.
  const std::string type = value.type()->name();
  std::string prefix;
  for (size_t i = 0; i < type.size(); ++i) {
    if (i > 0 && absl::ascii_isupper(type[i])) prefix += '_';
    prefix += absl::ascii_toupper(type[i]);
  }
  const std::string name = value.name();
  return absl::AsciiStrToLower(name.rfind(prefix + "_", 0) == 0 ? name.substr(prefix.size() + 1) : name);
}

bool SetsUnit(const FieldDescriptor& field, v1::Unit unit) { return field.options().GetExtension(v1::unit) == unit; }

class Reader {
 public:
  explicit Reader(JobFile* file) : file_(file) {}

  void Read(const YAML::Node& node, const std::string& path, Message* message) {
    file_->lines[path] = LineOf(node);
    if (node.IsNull()) return CheckRequired(node, path, *message);
    if (node.IsScalar()) return ReadShorthand(node, path, message);
    if (!node.IsMap()) return Error(node, path, "is a list; fields are expected here: " + FieldNames(*message->GetDescriptor()));
    std::map<const OneofDescriptor*, std::string> chosen;
    std::map<std::string, int> seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.as<std::string>("");
      const FieldDescriptor* field = Find(*message->GetDescriptor(), key);
      const std::string here = path.empty() ? key : absl::StrCat(path, ".", key);
      if (field == nullptr) {
        Error(entry.first, here, UnknownText(*message->GetDescriptor(), key));
        continue;
      }
      if (++seen[field->name()] > 1) {
        Error(entry.first, here, "is given twice");
        continue;
      }
      const OneofDescriptor* oneof = field->real_containing_oneof();
      if (oneof != nullptr && !chosen.emplace(oneof, key).second) {
        Error(entry.first, here, absl::StrCat("cannot stand beside ", chosen[oneof], "; only one of them is possible"));
        continue;
      }
      file_->lines[here] = entry.first.Mark().line + 1;
      ReadField(entry.second, here, *field, message);
    }
    CheckRequired(node, path, *message);
  }

  static int LineOf(const YAML::Node& node) { return std::max(node.Mark().line + 1, 1); }

 private:
  void Error(const YAML::Node& node, const std::string& path, const std::string& text) {
    file_->errors.push_back(absl::StrCat(file_->name, ":", LineOf(node), ": ", path, path.empty() ? "" : ": ", text));
  }

  static const FieldDescriptor* Find(const Descriptor& type, const std::string& key) {
    for (int i = 0; i < type.field_count(); ++i) {
      if (YamlName(*type.field(i)) == key || type.field(i)->name() == key) return type.field(i);
    }
    return nullptr;
  }

  static std::string FieldNames(const Descriptor& type) {
    std::vector<std::string> names;
    for (int i = 0; i < type.field_count(); ++i) names.push_back(YamlName(*type.field(i)));
    return absl::StrJoin(names, ", ");
  }

  // With the nearest known name where there is one near enough, else all of them.
  static std::string UnknownText(const Descriptor& type, const std::string& key) {
    std::string nearest;
    size_t least = 1 + key.size() / 2;
    for (int i = 0; i < type.field_count(); ++i) {
      const std::string name = YamlName(*type.field(i));
      const size_t distance = EditDistance(key, name);
      if (distance >= least) continue;
      least = distance;
      nearest = name;
    }
    return nearest.empty() ? absl::StrCat("is not a field; known here: ", FieldNames(type))
                           : absl::StrCat("is not a field; did you mean ", nearest, "?");
  }

  void CheckRequired(const YAML::Node& node, const std::string& path, const Message& message) {
    const Reflection* reflection = message.GetReflection();
    const Descriptor* type = message.GetDescriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      if (!field->options().GetExtension(v1::required)) continue;
      const std::string here = path.empty() ? YamlName(*field) : absl::StrCat(path, ".", YamlName(*field));
      // A field that stands there and could not be read has its own error already.
      const bool present = field->is_repeated() ? reflection->FieldSize(message, field) > 0 : reflection->HasField(message, field);
      if (!present && file_->lines.count(here) == 0) Error(node, path, absl::StrCat(YamlName(*field), " is missing"));
    }
  }

  // `pattern: random`: the name of a choice that needs nothing more.
  void ReadShorthand(const YAML::Node& node, const std::string& path, Message* message) {
    const std::string text = node.Scalar();
    const FieldDescriptor* field = Find(*message->GetDescriptor(), text);
    if (field != nullptr && field->real_containing_oneof() != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Message* chosen = message->GetReflection()->MutableMessage(message, field);
      return CheckRequired(node, absl::StrCat(path, ".", text), *chosen);
    }
    std::vector<std::string> choices;
    for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor* choice = message->GetDescriptor()->field(i);
      if (choice->real_containing_oneof() != nullptr) choices.push_back(choice->name());
    }
    Error(node, path, absl::StrCat("'", text, "' is not ", choices.empty() ? absl::StrCat("expected here; fields are: ", FieldNames(*message->GetDescriptor()))
                                                                           : absl::StrCat("one of ", absl::StrJoin(choices, ", "))));
  }

  void ReadField(const YAML::Node& node, const std::string& path, const FieldDescriptor& field, Message* message) {
    if (field.is_map()) return ReadMap(node, path, field, message);
    if (!field.is_repeated()) return ReadValue(node, path, field, message);
    if (!node.IsSequence()) {
      // One item may stand without a list.
      if (node.IsNull() || (node.IsMap() && field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)) return Error(node, path, "is not a list");
      return ReadValue(node, path + "[0]", field, message);
    }
    for (size_t i = 0; i < node.size(); ++i) ReadValue(node[i], absl::StrCat(path, "[", i, "]"), field, message);
  }

  void ReadMap(const YAML::Node& node, const std::string& path, const FieldDescriptor& field, Message* message) {
    if (!node.IsMap()) return Error(node, path, "is not a list of KEY: VALUE");
    for (const auto& entry : node) {
      if (!entry.second.IsScalar()) {
        Error(entry.second, absl::StrCat(path, ".", entry.first.as<std::string>("")), "is not a text");
        continue;
      }
      Message* item = message->GetReflection()->AddMessage(message, &field);
      item->GetReflection()->SetString(item, item->GetDescriptor()->FindFieldByName("key"), entry.first.as<std::string>(""));
      item->GetReflection()->SetString(item, item->GetDescriptor()->FindFieldByName("value"), entry.second.Scalar());
    }
  }

  void ReadValue(const YAML::Node& node, const std::string& path, const FieldDescriptor& field, Message* message) {
    const Reflection* reflection = message->GetReflection();
    file_->lines[path] = LineOf(node);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return Read(node, path, field.is_repeated() ? reflection->AddMessage(message, &field) : reflection->MutableMessage(message, &field));
    }
    // YAML reads `null` as no value; the engine of that name needs no quotes all the same.
    if (node.IsNull() && field.enum_type() != nullptr && field.enum_type()->full_name() == "lockstep.v1.Engine") {
      return reflection->SetEnumValue(message, &field, v1::ENGINE_NULL);
    }
    if (!node.IsScalar()) return Error(node, path, node.IsNull() ? "has no value" : "is not a single value");
    const std::string text = node.Scalar();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        if (field.is_repeated()) return reflection->AddString(message, &field, text);
        return reflection->SetString(message, &field, text);
      case FieldDescriptor::CPPTYPE_BOOL: {
        bool value = false;
        if (!YAML::convert<bool>::decode(node, value)) return Error(node, path, absl::StrCat("'", text, "' is not true or false"));
        return reflection->SetBool(message, &field, value);
      }
      case FieldDescriptor::CPPTYPE_ENUM:
        return ReadEnum(node, path, field, message);
      default:
        return ReadNumber(node, path, field, message);
    }
  }

  void ReadEnum(const YAML::Node& node, const std::string& path, const FieldDescriptor& field, Message* message) {
    std::vector<std::string> names;
    for (int i = 0; i < field.enum_type()->value_count(); ++i) {
      const EnumValueDescriptor* value = field.enum_type()->value(i);
      if (value->number() == 0) continue;
      names.push_back(EnumText(*value));
      if (names.back() == absl::AsciiStrToLower(node.Scalar())) return message->GetReflection()->SetEnum(message, &field, value);
    }
    Error(node, path, absl::StrCat("'", node.Scalar(), "' is not one of ", absl::StrJoin(names, ", ")));
  }

  absl::StatusOr<double> Parse(const FieldDescriptor& field, const std::string& text) {
    const auto widen = [](const absl::StatusOr<int64_t>& parsed) -> absl::StatusOr<double> {
      if (!parsed.ok()) return parsed.status();
      return static_cast<double>(*parsed);
    };
    if (SetsUnit(field, v1::UNIT_BYTES)) return widen(common::ParseSize(text));
    if (SetsUnit(field, v1::UNIT_DURATION_NS)) return widen(common::ParseDuration(text));
    if (SetsUnit(field, v1::UNIT_RATIO)) return common::ParseRatio(text);
    if (SetsUnit(field, v1::UNIT_BYTES_PER_SECOND)) return widen(common::ParseSize(text.size() > 2 && text.substr(text.size() - 2) == "/s" ? text.substr(0, text.size() - 2) : text));
    return common::ParseCount(text);
  }

  std::string Show(const FieldDescriptor& field, double value) {
    if (SetsUnit(field, v1::UNIT_BYTES)) return common::FormatSize(value);
    if (SetsUnit(field, v1::UNIT_DURATION_NS)) return common::FormatDuration(value);
    if (SetsUnit(field, v1::UNIT_RATIO)) return absl::StrFormat("%.4g%%", value * 100);
    return absl::StrFormat("%.15g", value);
  }

  void ReadNumber(const YAML::Node& node, const std::string& path, const FieldDescriptor& field, Message* message) {
    // Seeds use all 64 bits, which a double has not.
    uint64_t exact = 0;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64 && absl::SimpleAtoi(node.Scalar(), &exact)) {
      return message->GetReflection()->SetUInt64(message, &field, exact);
    }
    const auto parsed = Parse(field, node.Scalar());
    if (!parsed.ok()) return Error(node, path, std::string(parsed.status().message()));
    const double value = *parsed;
    const auto& options = field.options();
    if (options.HasExtension(v1::min) && value < options.GetExtension(v1::min)) {
      return Error(node, path, absl::StrCat("'", node.Scalar(), "' is too small; the least is ", Show(field, options.GetExtension(v1::min))));
    }
    if (options.HasExtension(v1::max) && value > options.GetExtension(v1::max)) {
      return Error(node, path, absl::StrCat("'", node.Scalar(), "' is too large; the most is ", Show(field, options.GetExtension(v1::max))));
    }
    const Reflection* reflection = message->GetReflection();
    const bool list = field.is_repeated();
    if (value < 0 && field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32) return Error(node, path, absl::StrCat("'", node.Scalar(), "' is negative"));
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) return list ? reflection->AddDouble(message, &field, value) : reflection->SetDouble(message, &field, value);
    if (value != std::floor(value)) return Error(node, path, absl::StrCat("'", node.Scalar(), "' is not a whole number"));
    const double most = field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32 ? 4294967295.0 : 9.2e18;
    if (value > most) return Error(node, path, absl::StrCat("'", node.Scalar(), "' is too large"));
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_UINT32:
        return list ? reflection->AddUInt32(message, &field, static_cast<uint32_t>(value)) : reflection->SetUInt32(message, &field, static_cast<uint32_t>(value));
      case FieldDescriptor::CPPTYPE_UINT64: return reflection->SetUInt64(message, &field, static_cast<uint64_t>(value));
      case FieldDescriptor::CPPTYPE_INT64: return reflection->SetInt64(message, &field, static_cast<int64_t>(value));
      default: return Error(node, path, "cannot be set in a job file");
    }
  }

  JobFile* file_;
};

// Sets one value in the tree: phases.0.run.duration=10s. Returns what is wrong, or nothing.
std::string ApplySet(const std::string& set, YAML::Node* root) {
  const size_t equals = set.find('=');
  if (equals == std::string::npos || equals == 0) return absl::StrCat("--set ", set, ": write PATH=VALUE, as phases.0.run.duration=10s");
  const std::vector<std::string> parts = absl::StrSplit(set.substr(0, equals), absl::ByAnyChar(".[]"), absl::SkipEmpty());
  std::vector<YAML::Node> chain{*root};
  for (size_t i = 0; i < parts.size(); ++i) {
    YAML::Node here = chain.back();
    uint64_t index = 0;
    if (here.IsSequence()) {
      if (!absl::SimpleAtoi(parts[i], &index) || index >= here.size()) {
        return absl::StrCat("--set ", set, ": '", parts[i], "' is not one of the list's numbers, 0 to ", here.size() == 0 ? 0 : here.size() - 1);
      }
      chain.push_back(here[index]);
    } else if (here.IsMap() || here.IsNull() || !here.IsDefined()) {
      chain.push_back(here[parts[i]]);
    } else {
      return absl::StrCat("--set ", set, ": there is nothing beneath '", parts[i - 1], "'");
    }
  }
  try {
    chain.back() = YAML::Load(set.substr(equals + 1));
  } catch (const YAML::Exception& e) {
    return absl::StrCat("--set ", set, ": ", e.msg);
  }
  return "";
}

}  // namespace

std::string YamlName(const FieldDescriptor& field) {
  std::string suffix;
  switch (field.options().GetExtension(v1::unit)) {
    case v1::UNIT_BYTES: suffix = "_bytes"; break;
    case v1::UNIT_DURATION_NS: suffix = "_ns"; break;
    case v1::UNIT_RATIO: suffix = "_ratio"; break;
    case v1::UNIT_COUNT: suffix = "_per_second"; break;
    case v1::UNIT_BYTES_PER_SECOND: suffix = "_bytes_per_second"; break;
    default: break;
  }
  const std::string& name = field.name();
  const bool has = !suffix.empty() && name.size() > suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
  return has ? name.substr(0, name.size() - suffix.size()) : name;
}

std::string JobFile::Locate(const v1::Problem& problem) const {
  std::string path = problem.path();
  while (true) {
    const auto found = lines.find(path);
    if (found != lines.end() || path.empty()) {
      const int line = found == lines.end() ? 1 : found->second;
      return absl::StrCat(name, ":", line, ": ", problem.path(), problem.path().empty() ? "" : ": ", problem.message());
    }
    const size_t cut = path.find_last_of(".[");
    path = cut == std::string::npos ? "" : path.substr(0, cut);
  }
}

JobFile ParseJobFile(const std::string& name, const std::string& source, const std::vector<std::string>& sets) {
  JobFile file;
  file.name = name;
  file.source = source;
  YAML::Node root;
  try {
    root = YAML::Load(source);
  } catch (const YAML::Exception& e) {
    file.errors.push_back(absl::StrCat(name, ":", e.mark.line + 1, ": not YAML: ", e.msg));
    return file;
  }
  if (!root.IsMap()) {
    file.errors.push_back(absl::StrCat(name, ":1: not a job: fields like `name:` and `phases:` are expected; docs/job-reference.md lists them"));
    return file;
  }
  for (const std::string& set : sets) {
    const std::string wrong = ApplySet(set, &root);
    if (!wrong.empty()) file.errors.push_back(wrong);
  }
  try {
    Reader(&file).Read(root, "", &file.job);
  } catch (const YAML::Exception& e) {
    file.errors.push_back(absl::StrCat(name, ":", e.mark.line + 1, ": ", e.msg));
  }
  return file;
}

}  // namespace lockstep::cli
