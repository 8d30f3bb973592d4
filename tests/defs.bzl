"""lockstep_test: the gtests of one room of the code."""

load("//bazel:cc.bzl", "cc_test")

def lockstep_test(name, srcs, deps, **kwargs):
    cc_test(
        name = name,
        size = "medium",
        srcs = srcs,
        deps = deps + ["@test_system//:gtest"],
        **kwargs
    )
