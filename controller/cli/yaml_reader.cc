#include "controller/cli/yaml_reader.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "common/text.h"
#include "controller/cli/field_hints.h"
#include "proto/field_text.h"
#include "proto/fields.h"
#include "proto/job.pb.h"
#include "proto/units.pb.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/yaml.h"

namespace lockstep::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;

class Reader {
 public:
  explicit Reader(JobFile* file) : file_(file) {}

  void Read(const YAML::Node& node, const std::string& path, Message* message) {
    if (TooMuch(node)) return;
    file_->lines[path] = LineOf(node);
    // `cleanup:` with nothing behind it is an empty message.
    if (node.IsNull()) return CheckRequired(node, path, *message);
    if (node.IsScalar()) return ReadShorthand(node, path, message);
    if (!node.IsMap()) {
      return Error(node, path,
                   "is a list; fields are expected here: " + FieldNames(*message->GetDescriptor()));
    }
    std::map<const OneofDescriptor*, std::string> chosen;
    std::map<std::string, int> seen;
    for (const auto& [name, value] : EntriesOf(node, path)) {
      const std::string key = name.as<std::string>("");
      const FieldDescriptor* field = Find(*message->GetDescriptor(), key);
      const std::string here = path.empty() ? common::Printable(key, 100)
                                            : absl::StrCat(path, ".", common::Printable(key, 100));
      if (field == nullptr) {
        Error(name, here, UnknownFieldText(*message->GetDescriptor(), here, key));
        continue;
      }
      // A field may have two spellings (Find()), so it is counted by its own name, not by the key.
      if (++seen[field->name()] > 1) {
        Error(name, here, "is given twice");
        continue;
      }
      const OneofDescriptor* oneof = field->real_containing_oneof();
      if (oneof != nullptr && !chosen.emplace(oneof, key).second) {
        Error(
            name, here,
            absl::StrCat("cannot stand beside ", chosen[oneof], "; only one of them is possible"));
        continue;
      }
      // ReadField() sets no line for a list or a map, which then keeps the line of its name.
      file_->lines[here] = LineOf(name);
      ReadField(value, here, *field, message);
    }
    CheckRequired(node, path, *message);
  }

  // 0 of a node that --set has made: it has no mark.
  static int LineOf(const YAML::Node& node) { return std::max(node.Mark().line + 1, 0); }

 private:
  using Entries = std::vector<std::pair<YAML::Node, YAML::Node>>;

  void Error(const YAML::Node& node, const std::string& path, const std::string& text) {
    // One wrong level of indentation can be an error in every line that follows.
    constexpr size_t kMaxErrors = 100;
    if (file_->errors.size() >= kMaxErrors) return;
    file_->errors.push_back(common::PrintableLines(
        absl::StrCat(file_->LocationOf(path, LineOf(node)), path, path.empty() ? "" : ": ", text)));
  }

  // Anchors let a short file stand for an endless one: ten lines that each repeat the line before
  // ten times are 10^10 values.
  bool TooMuch(const YAML::Node& node) {
    constexpr int kMaxValues = 200000;
    if (++values_ == kMaxValues) {
      Error(node, "", absl::StrCat("stands for more than ", kMaxValues, " values"));
    }
    return values_ >= kMaxValues;
  }

  // A map's own entries, then those of maps that it merges (`<<`) whose keys it has not itself.
  Entries EntriesOf(const YAML::Node& node, const std::string& path, int depth = 0) {
    // A map can merge itself through an anchor. The limit ends that recursion.
    constexpr int kDeepest = 16;
    Entries entries;
    Entries merged;
    for (const auto& entry : node) {
      if (TooMuch(entry.first)) break;
      if (entry.first.as<std::string>("") != "<<") {
        entries.emplace_back(entry.first, entry.second);
        continue;
      }
      const YAML::Node from = entry.second;
      const size_t count = from.IsSequence() ? from.size() : 1;
      for (size_t i = 0; i < count && !TooMuch(entry.first); ++i) {
        const YAML::Node one = from.IsSequence() ? from[i] : from;
        if (!one.IsMap() || depth >= kDeepest) {
          Error(entry.first, path, "<< takes a map, or a list of maps");
          continue;
        }
        for (auto& more : EntriesOf(one, path, depth + 1)) merged.push_back(std::move(more));
      }
    }
    // A map's own keys win over merged ones, and earlier maps over later ones
    // (yaml.org/type/merge.html).
    std::set<std::string> own;
    for (const auto& [name, value] : entries) own.insert(name.as<std::string>(""));
    for (auto& [name, value] : merged) {
      if (own.insert(name.as<std::string>("")).second) entries.emplace_back(name, value);
    }
    return entries;
  }

  static const FieldDescriptor* Find(const Descriptor& type, const std::string& key) {
    for (int i = 0; i < type.field_count(); ++i) {
      // The controller fills these fields in. A job file that set them would be believed.
      if (type.field(i)->options().GetExtension(v1::derived)) continue;
      if (v1::JobFieldName(*type.field(i)) == key || type.field(i)->name() == key) {
        return type.field(i);
      }
    }
    return nullptr;
  }

  void CheckRequired(const YAML::Node& node, const std::string& path, const Message& message) {
    const Reflection* reflection = message.GetReflection();
    const Descriptor* type = message.GetDescriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      if (!field->options().GetExtension(v1::required)) continue;
      const std::string here = path.empty() ? v1::JobFieldName(*field)
                                            : absl::StrCat(path, ".", v1::JobFieldName(*field));
      // A field that is there and could not be read already has an error of its own.
      const bool present = field->is_repeated() ? reflection->FieldSize(message, field) > 0
                                                : reflection->HasField(message, field);
      if (!present && !file_->lines.contains(here)) {
        Error(node, path, absl::StrCat(v1::JobFieldName(*field), " is missing"));
      }
    }
  }

  // `pattern: random`: the name of a choice that needs nothing more.
  void ReadShorthand(const YAML::Node& node, const std::string& path, Message* message) {
    const std::string text = common::Printable(node.Scalar(), 100);
    if (v1::ChooseFromText(node.Scalar(), message).ok()) {
      const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(node.Scalar());
      return CheckRequired(node, absl::StrCat(path, ".", text),
                           message->GetReflection()->GetMessage(*message, field));
    }
    std::vector<std::string> choices;
    for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor* choice = message->GetDescriptor()->field(i);
      if (choice->real_containing_oneof() != nullptr) choices.push_back(choice->name());
    }
    Error(node, path,
          absl::StrCat("'", text, "' is not ",
                       choices.empty() ? absl::StrCat("expected here; fields are: ",
                                                      FieldNames(*message->GetDescriptor()))
                                       : absl::StrCat("one of ", absl::StrJoin(choices, ", "))));
  }

  void ReadField(const YAML::Node& node, const std::string& path, const FieldDescriptor& field,
                 Message* message) {
    if (field.is_map()) return ReadMap(node, path, field, message);
    if (!field.is_repeated()) return ReadValue(node, path, field, message);
    if (!node.IsSequence()) {
      // One item may stand without a list.
      if (node.IsNull() || (node.IsMap() && field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)) {
        return Error(node, path, "is not a list");
      }
      return ReadValue(node, path + "[0]", field, message);
    }
    for (size_t i = 0; i < node.size(); ++i) {
      ReadValue(node[i], absl::StrCat(path, "[", i, "]"), field, message);
    }
  }

  void ReadMap(const YAML::Node& node, const std::string& path, const FieldDescriptor& field,
               Message* message) {
    if (!node.IsMap()) return Error(node, path, "is not a list of KEY: VALUE");
    for (const auto& [name, value] : EntriesOf(node, path)) {
      const std::string here =
          absl::StrCat(path, ".", common::Printable(name.as<std::string>(""), 100));
      if (!value.IsScalar()) {
        Error(value, here, "is not a single value");
        continue;
      }
      file_->lines[here] = LineOf(name);
      // Strings of proto3 are UTF-8. The controller could not parse a request with other bytes.
      if (!common::IsUtf8(name.Scalar()) || !common::IsUtf8(value.Scalar())) {
        Error(value, path, "is not valid UTF-8");
        continue;
      }
      Message* item = message->GetReflection()->AddMessage(message, &field);
      item->GetReflection()->SetString(item, item->GetDescriptor()->FindFieldByName("key"),
                                       name.as<std::string>(""));
      item->GetReflection()->SetString(item, item->GetDescriptor()->FindFieldByName("value"),
                                       value.Scalar());
    }
  }

  // Why no single value can be read here.
  static std::string WhyNoScalar(const YAML::Node& node, const std::string& path) {
    if (node.IsNull()) return "has no value";
    if (node.IsMap()) {
      // YAML reads `path: {host}` as a map whose only key has no value.
      const bool is_text = node.size() == 0 || (node.size() == 1 && node.begin()->second.IsNull());
      return is_text ? absl::StrCat(BracesOf(node),
                                    " is a map in YAML; a text that begins with a brace needs "
                                    "quotes")
                     : "is a map; a single value is expected here";
    }
    return absl::StrCat("is a list; a single value is expected here",
                        absl::StrContains(path, ".run.")
                            ? " (a phase that runs with several values has run.sweep.axes)"
                            : "");
  }

  // "{host}"
  static std::string BracesOf(const YAML::Node& map) {
    if (map.size() == 0) return "{}";
    return absl::StrCat("{", common::Printable(map.begin()->first.as<std::string>(""), 60), "}");
  }

  void ReadValue(const YAML::Node& node, const std::string& path, const FieldDescriptor& field,
                 Message* message) {
    const Reflection* reflection = message->GetReflection();
    if (TooMuch(node)) return;
    file_->lines[path] = LineOf(node);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return Read(node, path,
                  field.is_repeated() ? reflection->AddMessage(message, &field)
                                      : reflection->MutableMessage(message, &field));
    }
    // YAML reads `null` as no value; the engine of that name needs no quotes all the same.
    if (node.IsNull() && field.enum_type() != nullptr &&
        field.enum_type()->full_name() == "lockstep.v1.Engine") {
      return reflection->SetEnumValue(message, &field, v1::ENGINE_NULL);
    }
    if (!node.IsScalar()) return Error(node, path, WhyNoScalar(node, path));
    std::string text = node.Scalar();
    if (!common::IsUtf8(text)) return Error(node, path, "is not valid UTF-8");
    // YAML has other words for true and false: yes, no, on, off.
    bool truth = false;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL &&
        YAML::convert<bool>::decode(node, truth)) {
      text = truth ? "true" : "false";
    }
    const absl::Status set = v1::SetFromText(field, text, message);
    if (!set.ok()) Error(node, path, std::string(set.message()));
  }

  JobFile* file_;
  int values_ = 0;
};

}  // namespace

void ReadYaml(const YAML::Node& root, JobFile* file) { Reader(file).Read(root, "", &file->job); }

}  // namespace lockstep::cli
