#include "web/assets.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "web/compression.h"
#include "web/page_files.h"
#include "xxhash.h"

namespace lockstep::web {
namespace {

const char* TypeOf(const std::string& name) {
  if (absl::EndsWith(name, ".js")) return "text/javascript; charset=utf-8";
  if (absl::EndsWith(name, ".css")) return "text/css; charset=utf-8";
  return "text/html; charset=utf-8";
}

std::string HashOf(const std::string& content) {
  return absl::StrFormat("%016x", XXH3_64bits(content.data(), content.size()));
}

}  // namespace

Assets::Assets() {
  std::map<std::string, const common::EmbeddedFile*> files;
  for (const common::EmbeddedFile& file : PageFiles()) files[file.name] = &file;
  std::string page = files.at("index.html")->content;
  for (const auto& [name, file] : files) {
    // file.js is for reports as one file (page_export.cc).
    if (name == "index.html" || name == "file.js" || absl::EndsWith(name, ".gz")) continue;
    const std::string hash = HashOf(file->content);
    const size_t dot = name.rfind('.');
    const std::string named = absl::StrCat("\"/", name, "\"");
    // Scripts that other scripts load have a hash in their names already.
    const bool is_named = absl::StrContains(page, named);
    const std::string path =
        is_named ? absl::StrCat("/", name.substr(0, dot), ".", hash, name.substr(dot))
                 : absl::StrCat("/", name);
    // A name with the hash of its content can be cached for good: a new version has new names, and
    // only the page that names them is asked for again.
    page = absl::StrReplaceAll(page, {{named, absl::StrCat("\"", path, "\"")}});
    const auto compressed = files.find(name + ".gz");
    assets_[path] = {std::make_shared<const std::string>(file->content),
                     compressed == files.end()
                         ? nullptr
                         : std::make_shared<const std::string>(compressed->second->content),
                     TypeOf(name), "\"" + hash + "\"", true};
  }
  const std::string tag = "\"" + HashOf(page) + "\"";
  assets_["/"] = {std::make_shared<const std::string>(page),
                  std::make_shared<const std::string>(Gzip(page, 9)), TypeOf("index.html"), tag,
                  false};
}

std::optional<Answer> Assets::Find(const Request& request) const {
  const auto found = assets_.find(request.path);
  if (found == assets_.end()) return std::nullopt;
  const Asset& asset = found->second;
  Answer answer;
  answer.type = asset.type;
  answer.headers = {
      {"ETag", asset.tag},
      {"Vary", "Accept-Encoding"},
      {"Cache-Control", asset.immutable ? "public, max-age=31536000, immutable" : "no-cache"}};
  if (request.if_none_match == asset.tag) {
    answer.status = 304;
    return answer;
  }
  const bool gzip = asset.compressed != nullptr && request.accepts_gzip;
  if (gzip) answer.headers.emplace_back("Content-Encoding", "gzip");
  answer.body = gzip ? asset.compressed : asset.plain;
  return answer;
}

}  // namespace lockstep::web
