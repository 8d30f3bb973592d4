"""Makes the distribution's libraries and tools usable as Bazel targets, by asking pkg-config."""

# These are linked into the programs: as shared objects, which have some ten thousand symbols to
# look up, they cost two thirds of the time that a command of the command line takes.
_STATIC = ["absl_", "address_sorting", "cares", "gpr", "grpc", "protobuf", "re2", "upb"]

def _pkg_config(ctx, flags, packages):
    result = ctx.execute(["pkg-config"] + flags + packages)
    if result.return_code != 0:
        fail("pkg-config %s %s failed; run tools/install-deps.\n%s" % (
            " ".join(flags),
            " ".join(packages),
            result.stderr,
        ))
    return [word for word in result.stdout.strip().split(" ") if word]

def _quoted(words):
    return ", ".join(['"%s"' % word.replace('"', '\\"') for word in words])

def _is_static(word):
    return any([word.startswith("-l" + name) for name in _STATIC])

def _links(ctx, packages):
    if not any([_is_static(word) for word in _pkg_config(ctx, ["--libs"], packages)]):
        return _pkg_config(ctx, ["--libs"], packages)
    words = _pkg_config(ctx, ["--libs", "--static"], packages)
    archives = {"-l:lib%s.a" % word[2:]: True for word in words if _is_static(word)}
    kept = [word for word in words if word[:2] in ("-l", "-L", "-p")]
    others = {word: True for word in kept if not _is_static(word)}
    return ["-Wl,--start-group"] + archives.keys() + ["-Wl,--end-group"] + others.keys()

def _library(ctx, name, packages):
    includes = []
    defines = []
    for flag in _pkg_config(ctx, ["--cflags"], packages):
        if flag.startswith("-I"):
            folder = flag[2:]
            link = "include/%s/%d" % (name, len(includes))
            ctx.symlink(folder, link)
            includes.append(link)
        elif flag.startswith("-D"):
            defines.append(flag[2:])
    wrapped = ["-Wl,--push-state,--as-needed"]
    wrapped += _links(ctx, packages)
    wrapped.append("-Wl,--pop-state")
    return """cc_library(
    name = "%s",
    hdrs = glob([%s]),
    includes = [%s],
    defines = [%s],
    linkopts = [%s],
)
""" % (
        name,
        _quoted([folder + "/**/*.h" for folder in includes]),
        _quoted(includes),
        _quoted(defines),
        _quoted(wrapped),
    )

def _system_libraries_impl(ctx):
    build = ['package(default_visibility = ["//visibility:public"])\n']
    for name, packages in ctx.attr.libraries.items():
        build.append(_library(ctx, name, packages))
    for tool in ctx.attr.tools:
        path = ctx.which(tool)
        if not path:
            fail("%s is not on PATH; run tools/install-deps." % tool)
        ctx.symlink(path, "tools/" + tool)
    build.append("exports_files([%s])\n" % _quoted(["tools/" + tool for tool in ctx.attr.tools]))
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD", "\n".join(build))

system_libraries = repository_rule(
    implementation = _system_libraries_impl,
    attrs = {
        "libraries": attr.string_list_dict(doc = "Target name to pkg-config packages."),
        "tools": attr.string_list(doc = "Programs found on PATH, exported as tools/NAME."),
    },
    environ = ["PATH", "PKG_CONFIG_PATH"],
)
