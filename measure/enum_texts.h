#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace lockstep::measure {

// Enums that are text where JSON, SQL and people have them. One line for each gives it Text(),
// Parse() and Is():
//
//   template <>
//   inline constexpr auto kTexts<Unit> = EnumTexts(kUnitField, "1/s", "ns");

// The texts in the order of the enumerators, and the field of a message that has one of them.
template <typename Field, size_t count>
struct EnumTexts {
  template <typename... Texts>
  constexpr explicit EnumTexts(Field of, Texts... all) : field(of), texts{all...} {}

  Field field;
  std::array<std::string_view, count> texts;
};
template <typename Field, typename... Texts>
EnumTexts(Field, Texts...) -> EnumTexts<Field, sizeof...(Texts)>;

template <typename Enum>
inline constexpr std::nullptr_t kTexts = nullptr;

template <typename Enum>
concept HasTexts = !std::is_null_pointer_v<decltype(kTexts<Enum>)>;

// Fields of messages.
inline constexpr auto kKindField = [](const auto& message) -> std::string_view {
  return message.kind();
};
inline constexpr auto kStateField = [](const auto& message) -> std::string_view {
  return message.state();
};
inline constexpr auto kSeverityField = [](const auto& message) -> std::string_view {
  return message.severity();
};
inline constexpr auto kFigureField = [](const auto& message) -> std::string_view {
  return message.figure();
};
inline constexpr auto kLimitedByField = [](const auto& message) -> std::string_view {
  return message.limited_by();
};
inline constexpr auto kMetricField = [](const auto& message) -> std::string_view {
  return message.metric();
};
inline constexpr auto kIntervalClassField = [](const auto& message) -> std::string_view {
  return message.interval_class();
};
inline constexpr auto kUnitField = [](const auto& message) -> std::string_view {
  return message.unit();
};

template <HasTexts Enum>
std::string Text(Enum value) {
  return std::string(kTexts<Enum>.texts.at(static_cast<size_t>(value)));
}

// Nothing where the text is none of the enum's, as of a newer controller.
template <HasTexts Enum>
std::optional<Enum> Parse(std::string_view text) {
  const auto& texts = kTexts<Enum>.texts;
  const auto found = std::find(texts.begin(), texts.end(), text);
  if (found == texts.end()) return std::nullopt;
  return static_cast<Enum>(found - texts.begin());
}

// Whether the message has the value's text. No value is a text that is none of the enum's.
template <typename Message, HasTexts Enum>
bool Is(const Message& message, Enum value) {
  return Parse<Enum>(kTexts<Enum>.field(message)) == value;
}

}  // namespace lockstep::measure
