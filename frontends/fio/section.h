#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "frontends/findings.h"
#include "frontends/fio/reader.h"
#include "frontends/fio/values.h"
#include "frontends/frontend.h"
#include "frontends/rules.h"

namespace lockstep::frontends::fio {

// A value with the option that it came from; null if it is fio's default.
template <typename T>
struct Value {
  T value{};
  const Option* from = nullptr;
};

// The value of a switch that is not given.
enum class Otherwise { kOff, kOn };

// The options of one job, read by name and type. A value that fio would refuse is an error.
class SectionReader {
 public:
  SectionReader(const Section& section, Findings* findings);

  const Section& section() const { return section_; }
  const std::string& name() const { return name_; }
  const Option* Find(absl::string_view name) const;

  Value<std::string> Text(absl::string_view name, const std::string& otherwise) const;
  // Bytes, at least 0.
  Value<int64_t> Bytes(absl::string_view name, int64_t otherwise) const;
  // A whole number from 0 to `max`.
  Value<int64_t> Count(absl::string_view name, int64_t otherwise, int64_t max) const;
  // Nanoseconds, at least 0.
  Value<int64_t> Time(absl::string_view name, TimeUnit unit) const;
  // Booleans are numbers. `bare`: whether the option may stand without a value.
  enum class Bare { kRefused, kMeansTrue };
  Value<bool> Flag(absl::string_view name, Otherwise otherwise, Bare bare = Bare::kRefused) const;

  std::optional<int64_t> BytesOf(const Option& option, absl::string_view text) const;

  void Remark(const Option& option, const std::string& text) const;
  void Fail(const Option& option, const std::string& text) const;
  // The job as a whole.
  void Fail(const std::string& text) const;
  void Refuse(const Option& option, const std::string& need) const;
  void Apply(const Rule& rule, const Option& option) const;

 private:
  const Section& section_;
  Findings* findings_;
  std::string name_;
  int kb_base_ = 1024;
};

// Refuses and remarks what the table of options says.
void CheckOptions(const SectionReader& section);

}  // namespace lockstep::frontends::fio
