"""cc_embed: files as constants in a C++ library, so that a binary carries what it serves."""

def cc_embed(name, srcs, namespace, strip_prefix = "", visibility = None):
    """Writes NAME.h and NAME.cc with `const std::vector<common::EmbeddedFile>& <Namespace>()`.

    Args:
      name: the library's name.
      srcs: the files, embedded in this order. Of an archive (.tar), each of its files.
      namespace: the C++ function that returns them, as `space::Function`.
      strip_prefix: cut from the front of each file's name.
      visibility: of the library.
    """
    native.genrule(
        name = name + "_generate",
        srcs = srcs,
        outs = [name + ".h", name + ".cc"],
        tools = ["//bazel:embed_files.py", "@system//:tools/python3"],
        cmd = " ".join([
            "$(execpath @system//:tools/python3) $(execpath //bazel:embed_files.py)",
            "--function", namespace,
            "--header", "$(@D)/" + name + ".h",
            "--source", "$(@D)/" + name + ".cc",
            "--include", native.package_name() + "/" + name + ".h",
            "--strip-prefix '%s'" % strip_prefix,
            "$(SRCS)",
        ]),
    )
    native.cc_library(
        name = name,
        srcs = [name + ".cc"],
        hdrs = [name + ".h"],
        deps = ["//common:embedded_file"],
        visibility = visibility,
    )
