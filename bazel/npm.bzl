"""Installs the web page's locked npm packages once, when something of //web is first built."""

def _npm_modules_impl(ctx):
    npm = ctx.which("npm")
    if not npm:
        fail("npm is not on PATH; run tools/install-deps.")
    ctx.symlink(ctx.attr.package, "package.json")
    ctx.symlink(ctx.attr.lock, "package-lock.json")
    result = ctx.execute(
        [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
        timeout = 600,
    )
    if result.return_code != 0:
        fail("npm ci failed:\n" + result.stdout + result.stderr)
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD", """package(default_visibility = ["//visibility:public"])
filegroup(name = "modules", srcs = ["node_modules"])
""")

npm_modules = repository_rule(
    implementation = _npm_modules_impl,
    attrs = {
        "lock": attr.label(mandatory = True, allow_single_file = True),
        "package": attr.label(mandatory = True, allow_single_file = True),
    },
    environ = ["PATH"],
)
