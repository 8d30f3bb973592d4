"""cc_grpc_library: one .proto to a C++ library, by the distribution's protoc and gRPC plugin."""

load("//bazel:cc.bzl", "cc_library")

def cc_grpc_library(name, src, deps = [], has_services = False, visibility = None):
    """Compiles `src`.

    Args:
      name: the library's name.
      src: one .proto file of this package.
      deps: other cc_grpc_library targets that it imports, as `:name` or `//package:name`.
      has_services: services, too. The others need no gRPC headers, which cost a second each.
      visibility: of the library.
    """
    base = native.package_name() + "/" + src[:-len(".proto")]
    endings = [".pb.h", ".pb.cc"] + ([".grpc.pb.h", ".grpc.pb.cc"] if has_services else [])
    outs = [src[:-len(".proto")] + ending for ending in endings]
    protos = name + "_protos"
    native.filegroup(
        name = protos,
        srcs = [src] + [dep + "_protos" for dep in deps],
        visibility = visibility,
    )
    native.genrule(
        name = name + "_generate",
        srcs = [":" + protos],
        outs = outs,
        tools = ["@system//:tools/protoc", "@system//:tools/grpc_cpp_plugin"],
        cmd = " ".join([
            "$(execpath @system//:tools/protoc)",
            "--plugin=protoc-gen-grpc=$(execpath @system//:tools/grpc_cpp_plugin)",
            "--proto_path=. --cpp_out=$(BINDIR)",
            "--grpc_out=$(BINDIR)" if has_services else "",
            base + ".proto",
        ]),
    )
    cc_library(
        name = name,
        srcs = [out for out in outs if out.endswith(".cc")],
        hdrs = [out for out in outs if out.endswith(".h")],
        copts = ["-w"],
        deps = deps + ["@system//:grpc" if has_services else "@system//:protobuf"],
        visibility = visibility,
    )
