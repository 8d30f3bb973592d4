#pragma once

#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

// The run for a pull request or a wiki: verdict, a table of the phases with load, what to look at,
// sweeps, and the environment folded away. Texts from outside are made plain text.
std::string RenderMarkdown(const v1::Report& report);

// Makes a text that Markdown, and HTML within it, take as nothing but text. Reports are posted to
// issues, where a name of a job must not notify people, link to other issues or load an image.
std::string PlainMarkdown(const std::string& text);

}  // namespace lockstep::controller
