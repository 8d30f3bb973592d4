"""clang-tidy over every C++ file of a target, one action for what is compiled as one (cc.bzl), so
that Bazel looks only at what has changed. tools/lint runs it:

    bazel build //... --aspects=//bazel:clang_tidy.bzl%clang_tidy --output_groups=clang_tidy
"""

def _sources(rule):
    return [
        file
        for source in getattr(rule.attr, "srcs", [])
        for file in source.files.to_list()
        if file.extension == "cc" and (file.is_source or "_joined_" in file.basename)
    ]

def _flags(ctx, context):
    flags = ["-Wthread-safety"] + ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts
    flags += getattr(ctx.rule.attr, "copts", [])
    flags = [flag for flag in flags if not flag.startswith("--param=")]  # GCC's
    flags += ["-D" + define for define in context.defines.to_list()]
    flags += ["-D" + define for define in context.local_defines.to_list()]
    for directory in context.quote_includes.to_list():
        # Generated files are not checked: their generators are other people's.
        generated = directory.startswith("bazel-out") or directory.startswith("external")
        flags += ["-isystem" if generated else "-iquote", directory]
    for directory in context.includes.to_list() + context.system_includes.to_list():
        flags += ["-isystem", directory]
    return flags

def _clang_tidy(target, ctx):
    if ctx.rule.kind not in ("cc_library", "cc_binary", "cc_test"):
        return []
    infos = [dep[CcInfo] for dep in ctx.rule.attr.deps if CcInfo in dep]
    if CcInfo in target:
        infos.append(target[CcInfo])
    context = cc_common.merge_cc_infos(cc_infos = infos).compilation_context
    headers = [
        file
        for source in ctx.rule.attr.srcs + getattr(ctx.rule.attr, "hdrs", [])
        for file in source.files.to_list()
        if file.extension == "h"
    ]
    reports = []
    for source in _sources(ctx.rule):
        report = ctx.actions.declare_file("%s.%s.clang-tidy" % (target.label.name, source.basename))
        reports.append(report)
        ctx.actions.run_shell(
            mnemonic = "ClangTidy",
            progress_message = "Looking at " + source.short_path,
            inputs = depset([source] + headers + ctx.files._config, transitive = [context.headers]),
            tools = ctx.files._own_code,
            outputs = [report],
            # Shown only when something was found: clang-tidy counts what it left out.
            command = """plugin=$1; shift; report=$1; shift
if ! clang-tidy --load="$plugin" --quiet "$@" > "$report" 2>&1; then
  sed "s#$PWD/##" "$report"
  exit 1
fi""",
            arguments = [ctx.files._own_code[0].path, report.path] +
                        ([] if source.is_source else ["--checks=-bugprone-suspicious-include"]) +
                        [source.path, "--"] + _flags(ctx, context),
            use_default_shell_env = True,
        )
    return [OutputGroupInfo(clang_tidy = depset(reports))]

clang_tidy = aspect(
    implementation = _clang_tidy,
    fragments = ["cpp"],
    attrs = {
        "_config": attr.label(default = "//:.clang-tidy", allow_single_file = True),
        "_own_code": attr.label(default = "//tools/clang_tidy:own_code"),
    },
)
