#include "common/log.h"

#include "fmt/format.h"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"

namespace lockstep::log {
namespace {

spdlog::level::level_enum LevelOf(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
    case Level::kCritical:
      break;
  }
  return spdlog::level::critical;
}

}  // namespace

void SetName(const std::string& name) { spdlog::set_default_logger(spdlog::stderr_color_mt(name)); }

void Flush() { spdlog::default_logger()->flush(); }

void Write(Level level, fmt::string_view format, fmt::format_args args) {
  const spdlog::level::level_enum at = LevelOf(level);
  if (!spdlog::should_log(at)) return;
  spdlog::log(at, spdlog::string_view_t(fmt::vformat(format, args)));
}

}  // namespace lockstep::log
