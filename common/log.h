#pragma once

#include <string>

#include "fmt/core.h"

// The programs' log: lines on standard error, by spdlog. Its header is included by one file only:
// each file that calls it would compile a formatter and a logger of its own, a second of the
// compiler's time. Texts are checked against their arguments when compiled. Thread-safe.
namespace lockstep::log {

enum class Level { kDebug, kInfo, kWarn, kError, kCritical };

// Lines begin with this name from here on. Call it once, before other threads log.
void SetName(const std::string& name);
// Writes what is buffered: before a process ends without its destructors.
void Flush();
void Write(Level level, fmt::string_view format, fmt::format_args args);

template <typename... Args>
void Debug(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kDebug, format, fmt::make_format_args(args...));
}
template <typename... Args>
void Info(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kInfo, format, fmt::make_format_args(args...));
}
template <typename... Args>
void Warn(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kWarn, format, fmt::make_format_args(args...));
}
template <typename... Args>
void Error(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kError, format, fmt::make_format_args(args...));
}
template <typename... Args>
void Critical(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kCritical, format, fmt::make_format_args(args...));
}

}  // namespace lockstep::log
