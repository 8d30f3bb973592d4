#include "controller/cli/job_schema.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/descriptor.pb.h"
#include "proto/field_text.h"
#include "proto/fields.h"
#include "proto/job.pb.h"
#include "proto/job_comments.h"
#include "proto/units.pb.h"

namespace lockstep::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptorProto;
// Keeps the order of the fields, which editors show.
using Json = nlohmann::ordered_json;

// The comments of the proto files. Descriptors in a program have none: protoc leaves them out of
// the code that it generates. The build therefore embeds the files' descriptors with the comments.
class Comments {
 public:
  Comments() {
    google::protobuf::FileDescriptorSet files;
    files.ParseFromString(v1::JobComments().front().content);
    for (const FileDescriptorProto& file : files.file()) {
      for (const auto& location : file.source_code_info().location()) {
        // The lines of a comment are one text, as in docs/reference/job.md.
        const std::vector<std::string> words =
            absl::StrSplit(location.leading_comments(), absl::ByAnyChar(" \n"), absl::SkipEmpty());
        if (words.empty()) continue;
        texts_[{file.name(), {location.path().begin(), location.path().end()}}] =
            absl::StrJoin(words, " ");
      }
    }
  }

  // All messages and enums of a job stand at the top of a file. Their paths begin with the kind and
  // the number of the declaration (SourceCodeInfo in google/protobuf/descriptor.proto).
  std::string Of(const Descriptor& type) const {
    return At(type.file()->name(), {FileDescriptorProto::kMessageTypeFieldNumber, type.index()});
  }
  std::string Of(const FieldDescriptor& field) const {
    return At(field.file()->name(),
              {FileDescriptorProto::kMessageTypeFieldNumber, field.containing_type()->index(),
               DescriptorProto::kFieldFieldNumber, field.index()});
  }
  std::string Of(const EnumValueDescriptor& value) const {
    return At(value.type()->file()->name(),
              {FileDescriptorProto::kEnumTypeFieldNumber, value.type()->index(),
               EnumDescriptorProto::kValueFieldNumber, value.index()});
  }

 private:
  std::string At(const std::string& file, const std::vector<int>& path) const {
    const auto found = texts_.find({file, path});
    return found == texts_.end() ? "" : found->second;
  }

  std::map<std::pair<std::string, std::vector<int>>, std::string> texts_;
};

// A number as std::from_chars reads it, and the blanks before its unit (common/units.cc).
constexpr char kNumber[] = "(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]+)? *";

// The words for true and false that yaml-cpp knows, in its three cases.
constexpr char kTruth[] =
    "^(?:[yYnN]|[yY]es|YES|[nN]o|NO|[tT]rue|TRUE|[fF]alse|FALSE|[oO]n|ON|[oO]ff|OFF)$";

// How the values of a unit are written.
struct UnitForm {
  const char* units;     // pattern of what may follow the number
  const char* accepted;  // what an editor says if a value has another form
};

UnitForm FormOf(v1::Unit unit) {
  switch (unit) {
    case v1::UNIT_BYTES:
      return {"(?:[kKmMgGtTpP][iI]?)?[bB]?", "write a size: 4096, 4KiB, 4k"};
    case v1::UNIT_BYTES_PER_SECOND:
      return {"(?:[kKmMgGtTpP][iI]?)?[bB]?(?:/s)?", "write bytes per second: 100MiB, 100MiB/s"};
    case v1::UNIT_DURATION_NS:
      return {"(?:[nNuUµmM]?[sS]|[mM](?:[iI][nN])?|[hHdD])",
              "write a duration: 250us, 2ms, 90s, 5m, 12h"};
    case v1::UNIT_RATIO:
      return {"%?", "write a share: 0.7 or 70%"};
    default:
      return {"[kKmMgG]?", "write a number: 20000, 20k, 1.5M"};
  }
}

// Without a point where the number is whole.
Json NumberJson(double value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (value == std::floor(value) && std::abs(value) < kExact) return static_cast<int64_t>(value);
  return value;
}

// A pattern of any of the words, in any case.
std::string AnyCase(const std::vector<std::string>& words) {
  // Patterns of JSON Schema have no flag to ignore case.
  std::string pattern;
  for (const std::string& word : words) {
    absl::StrAppend(&pattern, pattern.empty() ? "^(?:" : "|");
    for (const char c : word) {
      if (!absl::ascii_isalpha(static_cast<uint8_t>(c))) {
        pattern += c;
        continue;
      }
      absl::StrAppend(&pattern, "[", std::string(1, absl::ascii_tolower(c)),
                      std::string(1, absl::ascii_toupper(c)), "]");
    }
  }
  return pattern + ")$";
}

bool IsRequired(const FieldDescriptor& field) { return field.options().GetExtension(v1::required); }

bool HasRequired(const Descriptor& type) {
  for (int i = 0; i < type.field_count(); ++i) {
    if (IsRequired(*type.field(i))) return true;
  }
  return false;
}

// A single value of a job file, as the YAML reader takes it (controller/cli/yaml_reader.cc). YAML
// gives `5` and `true` types of their own, and the reader takes them as texts, too.
Json TextOf(const FieldDescriptor& field) {
  // Characters, of which a text has at most as many as bytes.
  return {{"type", Json::array({"string", "number", "boolean"})},
          {"maxLength", v1::LengthLimit(field)}};
}

Json NumberOf(const FieldDescriptor& field) {
  const auto& options = field.options();
  const v1::Unit unit = options.GetExtension(v1::unit);
  const UnitForm form = FormOf(unit);
  const double least = options.HasExtension(v1::min) ? options.GetExtension(v1::min) : 0;
  double most = options.HasExtension(v1::max) ? options.GetExtension(v1::max)
                                              : std::numeric_limits<double>::infinity();
  if (unit == v1::UNIT_DURATION_NS) {
    // The only bare number that is a duration is 0, also in quotes.
    const char* zero = least > 0 ? "" : "0|";
    Json text = {{"type", "string"},
                 {"pattern", absl::StrCat("^(?:", zero, kNumber, form.units, ")$")},
                 {"errorMessage", form.accepted}};
    if (least > 0) return text;
    const Json nothing = {{"const", 0}};
    return {{"anyOf", Json::array({text, nothing})}};
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32) most = std::min(most, 4294967295.0);
  const bool whole = field.cpp_type() != FieldDescriptor::CPPTYPE_DOUBLE ||
                     unit == v1::UNIT_BYTES || unit == v1::UNIT_BYTES_PER_SECOND;
  Json number = {{"type", Json::array({whole ? "integer" : "number", "string"})},
                 {"minimum", NumberJson(least)}};
  if (std::isfinite(most)) number["maximum"] = NumberJson(most);
  number["pattern"] = absl::StrCat("^", kNumber, form.units, "$");
  number["errorMessage"] = form.accepted;
  return number;
}

// "From 512 B to 64 MiB." The schema itself holds only numbers without a unit to it.
std::string RangeText(const FieldDescriptor& field) {
  const auto& options = field.options();
  const auto text = [&](const auto& bound) {
    return v1::NumberText(field, options.GetExtension(bound));
  };
  const bool has_min = options.HasExtension(v1::min);
  const bool has_max = options.HasExtension(v1::max);
  return has_min && has_max ? absl::StrCat("From ", text(v1::min), " to ", text(v1::max), ".")
         : has_min          ? absl::StrCat("At least ", text(v1::min), ".")
         : has_max          ? absl::StrCat("At most ", text(v1::max), ".")
                            : "";
}

// The value of a field that is left out; null where the field has no default value.
Json DefaultOf(const FieldDescriptor& field) {
  const std::string& text = field.options().GetExtension(v1::default_value);
  if (text.empty()) return nullptr;
  double number = 0;
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) return text == "true";
  const bool is_text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING ||
                       field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM;
  if (!is_text && absl::SimpleAtod(text, &number)) return NumberJson(number);
  return text;
}

class SchemaMaker {
 public:
  Json Make() {
    Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                   {"title", "Lockstep job"},
                   {"$ref", Define(*v1::JobSpec::descriptor())}};
    schema["$defs"] = std::move(definitions_);
    return schema;
  }

 private:
  // Adds the message, and those beneath it, to the definitions. Returns how to refer to it.
  std::string Define(const Descriptor& type) {
    std::string reference = absl::StrCat("#/$defs/", type.name());
    if (definitions_.contains(type.name())) return reference;
    // It has its place before its fields are made, as a message may hold itself.
    definitions_[type.name()] = nullptr;
    Json definition = Described(comments_.Of(type));
    Json object = ObjectOf(type);
    Json names = ShorthandOf(type);
    if (names.is_null()) {
      definition.update(object);
    } else {
      definition["anyOf"] = Json::array({std::move(object), std::move(names)});
    }
    definitions_[type.name()] = std::move(definition);
    return reference;
  }

  static Json Described(const std::string& text) {
    Json schema = Json::object();
    if (!text.empty()) schema["description"] = text;
    return schema;
  }

  Json ObjectOf(const Descriptor& type) {
    Json properties = Json::object();
    // Spellings that are accepted, and that no editor offers: properties by pattern.
    Json others = Json::object();
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (field.options().GetExtension(v1::derived)) continue;
      const std::string name = v1::JobFieldName(field);
      Json schema = FieldOf(field);
      if (field.options().deprecated()) {
        schema["deprecated"] = true;
        others[absl::StrCat("^", name, "$")] = std::move(schema);
      } else {
        properties[name] = std::move(schema);
      }
      if (field.name() != name) others[absl::StrCat("^", field.name(), "$")] = ShapeOf(field);
    }
    // A field that has no value, such as `cleanup:`, is an empty message.
    Json object = {{"type", HasRequired(type) ? Json("object") : Json::array({"object", "null"})},
                   {"properties", std::move(properties)}};
    if (!others.empty()) object["patternProperties"] = std::move(others);
    object["additionalProperties"] = false;
    AddRules(type, &object);
    return object;
  }

  // Fields that must be there, and those that exclude each other.
  static void AddRules(const Descriptor& type, Json* object) {
    Json required = Json::array();
    Json rules = Json::array();
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (!IsRequired(field)) continue;
      const std::string name = v1::JobFieldName(field);
      if (field.name() == name) {
        required.push_back(name);
        continue;
      }
      // Of two spellings either one may be there. `required` cannot say so without a condition.
      Json other, own, rule;
      other["not"]["required"] = Json::array({field.name()});
      own["required"] = Json::array({name});
      rule["if"] = std::move(other);
      rule["then"] = std::move(own);
      rules.push_back(std::move(rule));
    }
    for (int c = 0; c < type.real_oneof_decl_count(); ++c) {
      const auto& choice = *type.oneof_decl(c);
      for (int i = 0; i + 1 < choice.field_count(); ++i) {
        Json rule;
        rule["if"]["required"] = Json::array({v1::JobFieldName(*choice.field(i))});
        for (int j = i + 1; j < choice.field_count(); ++j) {
          rule["then"]["properties"][v1::JobFieldName(*choice.field(j))] = false;
        }
        rules.push_back(std::move(rule));
      }
    }
    if (!required.empty()) (*object)["required"] = std::move(required);
    if (!rules.empty()) (*object)["allOf"] = std::move(rules);
  }

  // `pattern: random`: the names of the choices that need nothing more; null if there are none.
  Json ShorthandOf(const Descriptor& type) const {
    Json names = Json::array();
    Json texts = Json::array();
    for (int i = 0; i < type.field_count() && !HasRequired(type); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (field.real_containing_oneof() == nullptr || field.message_type() == nullptr ||
          HasRequired(*field.message_type())) {
        continue;
      }
      names.push_back(field.name());
      texts.push_back(CommentOf(field));
    }
    if (names.empty()) return nullptr;
    return {{"enum", std::move(names)}, {"enumDescriptions", std::move(texts)}};
  }

  std::string CommentOf(const FieldDescriptor& field) const {
    std::string text = comments_.Of(field);
    // Choices often have their comment at their message.
    return text.empty() && field.message_type() != nullptr && !field.is_map()
               ? comments_.Of(*field.message_type())
               : text;
  }

  Json FieldOf(const FieldDescriptor& field) {
    const auto& options = field.options();
    std::vector<std::string> sentences = {CommentOf(field), RangeText(field)};
    if (const std::string& text = options.GetExtension(v1::default_is); !text.empty()) {
      sentences.push_back(absl::StrCat("Default: ", text, "."));
    } else if (const std::string& value = options.GetExtension(v1::default_value); !value.empty()) {
      sentences.push_back(absl::StrCat("Default: ", value, "."));
    }
    if (options.GetExtension(v1::default_choice)) sentences.emplace_back("The default.");
    std::erase(sentences, "");
    Json schema = Described(absl::StrJoin(sentences, " "));
    schema.update(ShapeOf(field));
    if (Json value = DefaultOf(field); !value.is_null()) schema["default"] = std::move(value);
    return schema;
  }

  // All that a field may hold.
  Json ShapeOf(const FieldDescriptor& field) {
    if (field.is_map()) {
      return {{"type", "object"},
              {"additionalProperties", TextOf(field)},
              {"maxProperties", v1::CountLimit(field)}};
    }
    Json one = ValueOf(field);
    if (!field.is_repeated()) return one;
    Json list = {{"type", "array"}, {"items", one}};
    if (IsRequired(field)) list["minItems"] = 1;
    list["maxItems"] = v1::CountLimit(field);
    // One item may stand without a list, and nothing at all is no item.
    if (field.message_type() != nullptr) one["type"] = Json::array({"object", "string"});
    return {{"anyOf", Json::array({std::move(list), std::move(one)})}};
  }

  Json ValueOf(const FieldDescriptor& field) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return {{"$ref", Define(*field.message_type())}};
      case FieldDescriptor::CPPTYPE_STRING:
        return TextOf(field);
      case FieldDescriptor::CPPTYPE_BOOL:
        return {{"type", Json::array({"boolean", "string"})},
                {"pattern", kTruth},
                {"errorMessage", "write true or false"}};
      case FieldDescriptor::CPPTYPE_ENUM:
        return EnumOf(*field.enum_type());
      default:
        return NumberOf(field);
    }
  }

  Json EnumOf(const EnumDescriptor& type) const {
    Json names = Json::array();
    Json texts = Json::array();
    std::vector<std::string> words;
    for (int i = 0; i < type.value_count(); ++i) {
      const EnumValueDescriptor& value = *type.value(i);
      // 0 is UNSPECIFIED, which stands for a field that was not given.
      if (value.number() == 0) continue;
      words.push_back(v1::EnumText(value));
      names.push_back(words.back());
      texts.push_back(comments_.Of(value));
    }
    const Json any_case = {{"type", "string"}, {"pattern", AnyCase(words)}};
    // YAML reads `engine: null` as no value.
    if (std::find(words.begin(), words.end(), "null") != words.end()) {
      names.push_back(nullptr);
      texts.push_back("The engine null.");
    }
    const Json words_of_job = {{"enum", std::move(names)}, {"enumDescriptions", std::move(texts)}};
    return {{"anyOf", Json::array({words_of_job, any_case})}};
  }

  const Comments comments_;
  Json definitions_ = Json::object();
};

}  // namespace

std::string JobSchema() { return SchemaMaker().Make().dump(2) + "\n"; }

}  // namespace lockstep::cli
