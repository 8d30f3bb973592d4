"""lockstep_test: a gtest of one library."""


def lockstep_test(name, src, deps, **kwargs):
    native.cc_test(
        name = name, size = "small", srcs = [src], deps = deps + ["@test_system//:gtest"], **kwargs
    )
