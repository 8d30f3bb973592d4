"""cc_library and cc_test that compile several source files as one.

Most of the time of a compiler goes into headers that all files of a library include. Groups of
files are therefore included by one, which is compiled instead: a cold build takes 40 % of the
time. Names in anonymous namespaces must differ between the files of a library.

`bazel build --config=single` compiles each file by itself, which is faster after a change to one.
"""

# Files per group. One compiler then needs at most some 2 GiB.
_GROUP = 80

def _joined(name, srcs):
    """Returns the unity sources to compile instead of `srcs`, and the files that they include."""
    sources = [source for source in srcs if source.endswith(".cc")]
    if len(sources) < 2:
        return srcs, []
    count = (len(sources) + _GROUP - 1) // _GROUP
    size = (len(sources) + count - 1) // count
    joined = [source for source in srcs if not source.endswith(".cc")]
    for i in range(count):
        group = sources[i * size:(i + 1) * size]
        file = "%s_joined_%d.cc" % (name, i)
        lines = ["#include \\\"%s/%s\\\"" % (native.package_name(), source) for source in group]
        native.genrule(
            name = "%s_join_%d" % (name, i),
            outs = [file],
            cmd = "echo \"%s\" > $@" % "\n".join(lines),
        )
        joined.append(file)
    single = "//bazel:single"
    otherwise = "//conditions:default"
    return select({single: srcs, otherwise: joined}), select({single: [], otherwise: sources})

def cc_library(name, srcs = [], textual_hdrs = [], **kwargs):
    compiled, included = _joined(name, srcs)
    native.cc_library(
        name = name,
        srcs = compiled,
        textual_hdrs = textual_hdrs + included,
        **kwargs
    )

def cc_test(name, srcs, deps, **kwargs):
    compiled, included = _joined(name, srcs)

    # A test has no textual_hdrs.
    native.cc_library(name = name + "_sources", testonly = True, textual_hdrs = included)
    native.cc_test(name = name, srcs = compiled, deps = deps + [":%s_sources" % name], **kwargs)

def joined_library(name, sources, **kwargs):
    """A library of the files of other packages: each label of `sources` is compiled as one."""
    joined = []
    for i, label in enumerate(sources):
        file = "%s_joined_%d.cc" % (name, i)
        native.genrule(
            name = "%s_join_%d" % (name, i),
            srcs = [label],
            outs = [file],
            cmd = "for f in $(locations %s); do " % label +
                  "case $$f in *.cc) echo \"#include \\\"$$f\\\"\";; esac; done > $@",
        )
        joined.append(file)
    native.cc_library(name = name, srcs = joined, textual_hdrs = sources, **kwargs)
