#include "frontends/fio/section.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontends/fio/options.h"

namespace lockstep::frontends::fio {

SectionReader::SectionReader(const Section& section, Findings* findings)
    : section_(section), findings_(findings), name_(section.name) {
  // kb_base comes first: it decides how every size of the section is read.
  const Value<std::string> base = Text("kb_base", "1024");
  if (base.value == "1000") kb_base_ = 1000;
  if (base.value != "1000" && base.value != "1024") Fail(*base.from, "is neither 1024 nor 1000");
  if (const Value<std::string> name = Text("name", section.name); name.from != nullptr) {
    name_ = name.value;
  }
}

const Option* SectionReader::Find(absl::string_view name) const {
  const auto found = section_.options.find(std::string(name));
  return found == section_.options.end() ? nullptr : found->second.get();
}

Value<std::string> SectionReader::Text(absl::string_view name, const std::string& otherwise) const {
  const Option* option = Find(name);
  if (option == nullptr) return {otherwise};
  if (!option->has_value) {
    Fail(*option, "has no value");
    return {otherwise, option};
  }
  return {option->value, option};
}

std::optional<int64_t> SectionReader::BytesOf(const Option& option, absl::string_view text) const {
  constexpr int64_t kMaxBytes = 1000000000000000000;
  const std::optional<Number> number = ParseBytes(text, kb_base_);
  if (!number || number->value < 0) {
    Fail(option, absl::StrCat("'", text, "' is not a size for fio; write 4096, 4k, 1536m"));
    return std::nullopt;
  }
  if (number->mark != 0) {
    Refuse(option, number->mark == '%' ? "the size of the device or file, of which this is a share"
                                       : "zones of zoned devices");
    return std::nullopt;
  }
  if (number->value > kMaxBytes) {
    Fail(option, "is more than 1 EB");
    return std::nullopt;
  }
  // The most common of fio's surprises, with which a job would measure something else.
  const bool fraction = text.find('.') != absl::string_view::npos;
  if (!absl::StartsWith(text, "(") &&
      (fraction || absl::StartsWith(text, " ") || absl::StartsWith(text, "\t"))) {
    Remark(option, absl::StrCat("fio ",
                                fraction ? "cuts fractions off, with the unit"
                                         : "overlooks the unit behind a blank",
                                ": it takes this for ", number->value, " bytes"));
  }
  return number->value;
}

Value<int64_t> SectionReader::Bytes(absl::string_view name, int64_t otherwise) const {
  const Value<std::string> text = Text(name, "");
  if (text.from == nullptr || !text.from->has_value) return {otherwise, text.from};
  return {BytesOf(*text.from, text.value).value_or(otherwise), text.from};
}

Value<int64_t> SectionReader::Count(absl::string_view name, int64_t otherwise, int64_t max) const {
  const Value<std::string> text = Text(name, "");
  if (text.from == nullptr || !text.from->has_value) return {otherwise, text.from};
  // fio reads numbers with the units of sizes: iodepth=1k is 1,024.
  const std::optional<Number> number = ParseBytes(text.value, kb_base_);
  if (!number || number->mark != 0 || number->value < 0 || number->value > max) {
    Fail(*text.from, absl::StrCat("is not a whole number from 0 to ", max));
    return {otherwise, text.from};
  }
  return {number->value, text.from};
}

Value<int64_t> SectionReader::Time(absl::string_view name, TimeUnit unit) const {
  constexpr int64_t kMaxMicroseconds = int64_t{370} * 86400 * 1000000;
  const Value<std::string> text = Text(name, "");
  if (text.from == nullptr || !text.from->has_value) return {0, text.from};
  const std::optional<int64_t> time = ParseTime(text.value, unit);
  if (!time || *time < 0 || *time > kMaxMicroseconds) {
    Fail(*text.from, "is no time from 0 to 370 days; write 90, 90s, 5m, 500ms");
    return {0, text.from};
  }
  // fio takes a unit that it does not know for microseconds. A load of "5min" would be over at
  // once.
  for (const char* word : {"sec", "min", "hour", "day", "msecs"}) {
    if (text.value.find(word) == std::string::npos ||
        text.value.find("msec") != std::string::npos) {
      continue;
    }
    Remark(*text.from, absl::StrCat("fio knows no unit '", word, "', and takes this for ", *time,
                                    " microseconds"));
    break;
  }
  return {*time * 1000, text.from};
}

Value<bool> SectionReader::Flag(absl::string_view name, Otherwise otherwise, Bare bare) const {
  const Option* option = Find(name);
  if (option == nullptr) return {otherwise == Otherwise::kOn};
  if (!option->has_value && bare == Bare::kMeansTrue) return {true, option};
  // fio's booleans are numbers: direct=true fails there, too.
  const std::optional<int64_t> number =
      option->has_value ? ParseInteger(option->value) : std::nullopt;
  if (!number) {
    Fail(*option, "is a number for fio: 0 or 1");
    return {otherwise == Otherwise::kOn, option};
  }
  return {*number != 0, option};
}

void SectionReader::Remark(const Option& option, const std::string& text) const {
  findings_->Remark(option.where, text);
}
void SectionReader::Fail(const Option& option, const std::string& text) const {
  findings_->Fail(option.where, text);
}
void SectionReader::Fail(const std::string& text) const { findings_->Fail(section_.where, text); }
void SectionReader::Refuse(const Option& option, const std::string& need) const {
  findings_->Refuse(option.where, need);
}
void SectionReader::Apply(const Rule& rule, const Option& option) const {
  ApplyRule(rule, option.where, findings_);
}

void CheckOptions(const SectionReader& section) {
  // No option is ignored: each is translated, has its default, or gets a remark or an error.
  for (const auto& [name, option] : section.section().options) {
    const Rule* rule = FindRule(name);
    if (rule == nullptr) {
      const std::string nearest = NearestOption(name);
      section.Fail(*option, nearest.empty()
                                ? "is no option of fio, or one of an engine that Lockstep has "
                                  "not; fio's are in fio(1)"
                                : absl::StrCat("is no option of fio; did you mean ", nearest, "?"));
    } else if (option->has_value && IsIdle(*rule, option->value)) {
      continue;
    } else {
      section.Apply(*rule, *option);
    }
  }
}

}  // namespace lockstep::frontends::fio
