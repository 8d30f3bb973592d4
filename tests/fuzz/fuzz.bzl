"""fuzz_target: NAME_fuzz.cc as a libFuzzer program (by tools/fuzz), and as a test of its corpus."""


def fuzz_target(name, deps):
    native.cc_binary(
        name = name + "_fuzz",
        testonly = True,
        srcs = [name + "_fuzz.cc", "directory.h"],
        linkopts = ["-fsanitize=fuzzer"],
        tags = ["manual"],
        deps = deps,
    )
    native.cc_test(
        name = name + "_corpus_test",
        size = "small",
        srcs = [name + "_fuzz.cc", "directory.h", "replay.cc"],
        args = ["tests/fuzz/corpus/" + name],
        data = native.glob(["corpus/" + name + "/**"]),
        deps = deps + ["@test_system//:gtest"],
    )
