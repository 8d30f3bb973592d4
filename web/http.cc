#include "web/http.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "common/text.h"
#include "google/protobuf/util/json_util.h"
#include "proto/controller.pb.h"

namespace lockstep::web {
namespace {

int Hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool Decode(absl::string_view text, std::string* decoded) {
  for (size_t i = 0; i < text.size(); ++i) {
    // In a query a blank is written as a plus, as browsers do (application/x-www-form-urlencoded).
    // Paths are not decoded.
    if (text[i] == '+') {
      decoded->push_back(' ');
    } else if (text[i] != '%') {
      decoded->push_back(text[i]);
    } else {
      if (i + 2 >= text.size() || Hex(text[i + 1]) < 0 || Hex(text[i + 2]) < 0) return false;
      decoded->push_back(static_cast<char>(Hex(text[i + 1]) * 16 + Hex(text[i + 2])));
      i += 2;
    }
  }
  return true;
}

}  // namespace

std::optional<std::string> Request::Get(const std::string& name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

bool ReadTarget(const std::string& target, Request* request) {
  if (target.empty() || target[0] != '/') return false;
  const size_t question = target.find('?');
  // The path stays encoded, since no name that is served here needs an escape.
  request->path = target.substr(0, question);
  if (!common::IsUtf8(request->path)) return false;
  if (question == std::string::npos) return true;
  for (const absl::string_view part :
       absl::StrSplit(absl::string_view(target).substr(question + 1), '&', absl::SkipEmpty())) {
    const size_t equals = part.find('=');
    std::pair<std::string, std::string> pair;
    if (!Decode(part.substr(0, equals), &pair.first)) return false;
    if (equals != absl::string_view::npos && !Decode(part.substr(equals + 1), &pair.second)) {
      return false;
    }
    // A call with other bytes would fail in gRPC without a reason, and PostgreSQL refuses them.
    if (!common::IsUtf8(pair.first) || !common::IsUtf8(pair.second)) return false;
    request->query.push_back(std::move(pair));
  }
  return true;
}

std::string Quoted(const std::string& words) {
  v1::Problem error;  // borrowed for its string: protobuf quotes it
  error.set_message(words);
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(error, &json).ok()) return "\"\"";
  const size_t begin = json.find(':');
  return begin == std::string::npos ? "\"\"" : json.substr(begin + 1, json.rfind('}') - begin - 1);
}

Answer ErrorAnswer(int status, const std::string& words) {
  Answer answer;
  answer.status = status;
  answer.body = std::make_shared<const std::string>("{\"error\":" + Quoted(words) + "}");
  return answer;
}

}  // namespace lockstep::web
