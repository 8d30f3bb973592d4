"""Stand-ins for repositories that Bazel 4 requests implicitly, so that a build needs no network."""

def _write_defs_impl(ctx):
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD", "")
    ctx.file(ctx.attr.folder + "/BUILD", 'package(default_visibility = ["//visibility:public"])\n')
    ctx.file(
        ctx.attr.folder + "/defs.bzl",
        "".join(["%s = native.%s\n" % (rule, rule) for rule in ctx.attr.rules]),
    )

_write_defs = repository_rule(
    implementation = _write_defs_impl,
    attrs = {
        "folder": attr.string(mandatory = True),
        "rules": attr.string_list(mandatory = True),
    },
)

_COVERAGE_BUILD = """package(default_visibility = ["//visibility:public"])
filegroup(name = "coverage_report_generator", srcs = ["merge_lcov.sh"])
filegroup(name = "lcov_merger", srcs = ["merge_lcov.sh"])
"""

_MERGE_LCOV = """#!/usr/bin/env bash
# Concatenates the lcov traces of one directory: Bazel's own merger is a download.
set -eu
for argument in "$@"; do
  case $argument in
    --coverage_dir=*) folder=${argument#*=} ;;
    --output_file=*) output=${argument#*=} ;;
    --reports_file=*) reports=${argument#*=} ;;
  esac
done
: > "$output"
if [ -n "${reports:-}" ]; then
  xargs -r cat < "$reports" >> "$output"
else
  find "$folder" -name '*.dat' -exec cat {} + >> "$output"
fi
"""

def _coverage_tools_impl(ctx):
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD", _COVERAGE_BUILD)
    ctx.file("merge_lcov.sh", _MERGE_LCOV, executable = True)

_coverage_tools = repository_rule(implementation = _coverage_tools_impl)

def bazel_stand_ins():
    _write_defs(
        name = "rules_cc",
        folder = "cc",
        rules = [
            "cc_binary",
            "cc_import",
            "cc_library",
            "cc_test",
            "cc_toolchain",
            "cc_toolchain_suite",
        ],
    )
    _write_defs(
        name = "rules_java",
        folder = "java",
        rules = ["java_import", "java_runtime", "java_toolchain"],
    )
    _coverage_tools(name = "remote_coverage_tools")
