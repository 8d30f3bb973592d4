"""C++ libraries of .proto files, by the distribution's protoc and gRPC plugin."""

load("//bazel:cc.bzl", "cc_library")

def _generate(name, srcs, protos, endings, services):
    """Runs protoc on `srcs`, whose imports are in the filegroups `protos`; what it makes."""
    bases = [src[:-len(".proto")] for src in srcs]
    outs = [base + ending for base in bases for ending in endings]
    native.filegroup(
        name = name + "_protos",
        srcs = srcs + protos,
        visibility = ["//visibility:private"],
    )
    native.genrule(
        name = name + "_generate",
        srcs = [":%s_protos" % name],
        outs = outs,
        tools = ["@system//:tools/protoc", "@system//:tools/grpc_cpp_plugin"],
        cmd = " ".join([
            "$(execpath @system//:tools/protoc)",
            "--plugin=protoc-gen-grpc=$(execpath @system//:tools/grpc_cpp_plugin)",
            "--proto_path=. --cpp_out=$(BINDIR)",
            "--grpc_out=$(BINDIR)" if services else "",
        ] + ["%s/%s" % (native.package_name(), src) for src in srcs]),
    )
    return {
        "srcs": [out for out in outs if out.endswith(".cc")],
        "hdrs": [out for out in outs if out.endswith(".h")],
    }

def _joined_messages(name, hdrs, srcs):
    """The generated sources as one. Two names of file scope are the same in all of them."""
    lines = ["#include \\\"%s/%s\\\"" % (native.package_name(), hdr) for hdr in hdrs]
    for i, src in enumerate(srcs):
        for word in ["schemas", "file_default_instances"]:
            lines += ["#undef " + word, "#define %s %s_%d" % (word, word, i)]
        lines.append("#include \\\"%s/%s\\\"" % (native.package_name(), src))
    native.genrule(
        name = name + "_join",
        outs = [name + "_joined.cc"],
        cmd = "echo \"%s\" > $@" % "\n".join(lines),
    )
    return [name + "_joined.cc"]

def cc_messages_library(name, srcs, visibility = None):
    """One library of all messages, and a name for each file: `load` of `load.proto`.

    The generated code is compiled as one, because most of its cost is protobuf's headers, which
    all of it includes. It needs no gRPC headers.

    Args:
      name: the library's name.
      srcs: .proto files of this package without services, which import each other only.
      visibility: of the library and its names.
    """
    generated = _generate(name, srcs, [], [".pb.h", ".pb.cc"], services = False)

    # Nothing catches an exception that passes through messages. Landing pads for one cost a fifth
    # of the compiler's time.
    native.cc_library(
        name = name,
        srcs = _joined_messages(name, generated["hdrs"], generated["srcs"]),
        hdrs = generated["hdrs"],
        textual_hdrs = generated["srcs"],
        copts = ["-w", "-fno-exceptions"],
        deps = ["@system//:protobuf"],
        visibility = visibility,
    )
    for src in srcs:
        native.alias(
            name = src[:-len(".proto")],
            actual = ":" + name,
            visibility = visibility,
        )

def cc_grpc_library(name, src, deps, visibility = None):
    """Compiles one .proto file with services.

    Args:
      name: the library's name.
      src: the file, of this package.
      deps: the libraries of this package that it imports.
      visibility: of the library.
    """
    cc_library(
        name = name,
        copts = ["-w"],
        deps = deps + ["@system//:grpc"],
        visibility = visibility,
        **_generate(
            name,
            [src],
            [dep + "_protos" for dep in deps],
            [".pb.h", ".pb.cc", ".grpc.pb.h", ".grpc.pb.cc"],
            services = True
        )
    )
