"""`lockstep schema`: the schema accepts what `lockstep check` accepts, and refuses wrong jobs."""

import json
import re
import subprocess
import unittest

import jsonschema
import yaml
from fleet import BIN
from test_docs import DOCUMENTS, blocks, text_of
from test_examples import examples, stories

JOB = """# yaml-language-server: $schema=job.schema.json
name: schema
targets:
  - name: data
    file: {path: "/data/{host}", size: 1GiB}
  - name: nothing
    null: {latency: 1ms}
phases:
  - prepare:
  - name: mix
    run:
      ramp: 0s
      duration: 10s
      workloads:
        - {targets: data, block_size: 8KiB, read: 70%, queue_depth: 16}
      expect: {iops: 5400}
  - cleanup:
"""

# Parts of the job above, and wrong ones in their place.
WRONG = (
    ("name: schema\n", ""),
    ("block_size: 8KiB", "blocksize: 8KiB"),
    ("expect: {iops: 5400}", "expect: {iops: 5400, name: x}"),
    ('path: "/data/{host}"', "count: 2"),
    ("size: 1GiB", "size: 1GiB, variant_of: data"),
    ("size: 1GiB", "size: 1.5"),
    ("size: 1GiB", "size: 100"),
    ("size: 1GiB", "size: -1GiB"),
    ("size: 1GiB", "size: 1GiB/s"),
    ("block_size: 8KiB", "block_size: 8 kibi"),
    ("duration: 10s", "duration: 10"),
    ("duration: 10s", "duration: 10 sec"),
    ("duration: 10s", "duration: 0"),
    ("duration: 10s", "duration: 1m30s"),
    ("ramp: 0s", "ramp: 1"),
    ("read: 70%", "read: 70 percent"),
    ("read: 70%", "read: 1.5"),
    ("read: 70%", "read: -0.5"),
    ("read: 70%", "read:"),
    ("queue_depth: 16", "queue_depth: 0"),
    ("queue_depth: 16", "queue_depth: 5000"),
    ("queue_depth: 16", "queue_depth: 1.5"),
    ("queue_depth: 16", "queue_depth: many"),
    ("read: 70%", "engine: iouring"),
    ("read: 70%", "direct: maybe"),
    ("read: 70%", "pattern: spiral"),
    ("read: 70%", "pattern: hot_zones"),
    ("read: 70%", "pattern: {hot_zones: {}}"),
    ("read: 70%", "pattern: {zipf: {theta: 1000}}"),
    ("read: 70%", "pattern: {random: {}, zipf: {}}"),
    ("read: 70%", "pattern: [random]"),
    ("read: 70%", "content: {zeros: {fresh: true}}"),
    ('path: "/data/{host}"', "path: [/data]"),
    ('path: "/data/{host}"', "path: {host}"),
    ("targets: data", "targets: {data: 1}"),
    ("targets: data", "targets: [null]"),
    ("expect: {iops: 5400}", "expect: {iops: fast}"),
    ("expect: {iops: 5400}", "promised: {iops: 0}"),
    ("expect: {iops: 5400}", "promised: {bandwidth: 1GiB}"),
    ("expect: {iops: 5400}", "expect: iops"),
    ("expect: {iops: 5400}", "expect: [iops]"),
    ("  - cleanup:\n", "  - cleanup: [data]\n"),
    ("  - cleanup:\n", "  - cleanup: {}\n    prepare: {}\n"),
    ("  - cleanup:\n", "  - tidy:\n"),
    ("  - cleanup:\n", "  - observe:\n"),
    ("  - cleanup:\n", "  - observe: {duration: 10}\n"),
    ("  - cleanup:\n", "  - observe: {duration: 10s, expect: {iops: 1}}\n"),
    ("  - cleanup:\n", "  - observe: {duration: 10s, promised: {iops: 1}}\n"),
    ("  - cleanup:\n", "  - run: {duration: 1s}\n"),
    ("  - cleanup:\n", "  - run: {duration: 1s, workloads: []}\n"),
    ("name: schema\n", "name: schema\nlabels: [team]\n"),
    ("name: schema\n", "name: schema\nlabels: {team: [storage]}\n"),
    ("name: schema\n", "name: [schema]\n"),
    ("name: schema\n", f"name: {200 * 'x'}\n"),
)
RIGHT = (
    ("size: 1GiB", "size_bytes: 1073741824"),
    ("size: 1GiB", "size: 1.5 gib"),
    ("size: 1GiB", "size: 1e6"),
    ("size: 1GiB", "size: '1000000'"),
    ("block_size: 8KiB", "block_size_bytes: 8k"),
    ("duration: 10s", "duration: 1.5 m"),
    ("duration: 10s", "duration: 10S"),
    ("duration: 10s", "duration_ns: 250000us"),
    ("ramp: 0s", "ramp: 0"),
    ("ramp: 0s", "ramp: '0'"),
    ("read: 70%", "read: .5"),
    ("read: 70%", "read: 7e-1"),
    ("read: 70%", "read: 1"),
    ("queue_depth: 16", "queue_depth: '16'"),
    ("queue_depth: 16", "queue_depth: 0.5k"),
    ("queue_depth: 16", "queue_depth: 16.0"),
    ("read: 70%", "engine: IO_uring"),
    ("read: 70%", "direct: Off"),
    ("read: 70%", "direct: 'yes'"),
    ("targets: data", "targets: nothing, engine: null"),
    ("targets: data", "targets: [nothing], engine: 'null'"),
    ("read: 70%", "pattern: sequential"),
    ("read: 70%", "pattern: {sequential: }"),
    ("read: 70%", "pattern: {hot_zones: {zones: {io: 100%, size: 0.5}}}"),
    ("read: 70%", "max_throughput: 100MiB/s"),
    ("read: 70%", "max_throughput: 1e8"),
    ("read: 70%", "fsync: {every: 10, mode: fdatasync}, read: 0"),
    ("  - cleanup:\n", "  - cleanup\n"),
    ("  - cleanup:\n", "  - cleanup: {targets: data}\n"),
    ("  - cleanup:\n", ""),
    ("  - cleanup:\n", "  - observe: {duration: 10s}\n"),
    ("  - cleanup:\n", "  - observe: {duration: 10s, devices: /dev/sda}\n"),
    ("  - cleanup:\n", "  - observe: {duration: 10s, devices: [/dev/sda, /srv]}\n"),
    ("expect: {iops: 5400}", "expect:"),
    ("expect: {iops: 5400}", "expect: {iops: 5.4k, throughput: 40MiB/s, errors: 0}"),
    ("expect: {iops: 5400}", "promised: {iops: 5.4k, throughput: 1GiB/s}"),
    ("expect: {iops: 5400}", "sweep: {axes: {field: queue_depth, values: [1, 2, 4]}}"),
    ("expect: {iops: 5400}", "sweep: {repeat: 3, until: {within: 5%}}"),
    ("name: schema\n", "name: 5\nlabels: {team: 1, fast: true}\nseed: 18446744073709551615\n"),
    ("name: schema\n", "name: schema\nhosts: {names: 'node[1-8]', labels: {rack: 7}}\n"),
)


def lockstep(*words, stdin=None):
    return subprocess.run(
        [f"{BIN}/lockstep", *words], input=stdin, capture_output=True, text=True, check=False
    )


def plain(value):
    """With the keys as texts: `null:` is one in a job."""
    if isinstance(value, dict):
        return {"null" if k is None else str(k): plain(v) for k, v in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = lockstep("schema")
        assert done.returncode == 0, done.stderr
        cls.schema = json.loads(done.stdout)
        cls.validator = jsonschema.Draft202012Validator(cls.schema)

    def problems(self, job):
        return [error.message for error in self.validator.iter_errors(plain(yaml.safe_load(job)))]

    def is_valid(self, job):
        """As `lockstep check` has it."""
        done = lockstep("check", "-", stdin=job)
        self.assertIn(done.returncode, (0, 2), done.stderr)
        return done.returncode == 0

    def changed(self, old, new):
        self.assertEqual(JOB.count(old), 1, old)
        return JOB.replace(old, new)

    def test_it_is_a_schema_of_its_draft(self):
        self.assertEqual(self.schema["$schema"], "https://json-schema.org/draft/2020-12/schema")
        jsonschema.Draft202012Validator.check_schema(self.schema)

    def test_the_examples_are_valid(self):
        for name, path in {**examples(), **stories()}.items():
            with self.subTest(name), open(path, encoding="utf-8") as text:
                job = text.read()
                self.assertEqual(self.problems(job), [])
                self.assertTrue(self.is_valid(job))

    def test_the_jobs_of_the_documents_are_valid(self):
        begin = "name: part\ntargets: [{name: t, file: {path: /t, size: 1GiB}}]\n"
        jobs = [begin + part for part in blocks("docs/reference/engine.md", "yaml")]
        jobs += blocks("README.md", "yaml")
        jobs += blocks("docs/guide/coming-from-sysbench.md", "yaml")
        for document in DOCUMENTS:
            for part in text_of(document).split(".yaml << 'EOF'\n")[1:]:
                jobs.append(part.split("\nEOF\n")[0])
        self.assertGreaterEqual(len(jobs), 12)
        for job in jobs:
            with self.subTest(job=job):
                self.assertEqual(self.problems(job), [])

    def test_both_refuse_wrong_jobs(self):
        for old, new in WRONG:
            with self.subTest(old=old, new=new):
                job = self.changed(old, new)
                self.assertNotEqual(self.problems(job), [])
                self.assertFalse(self.is_valid(job))

    def test_both_accept_every_spelling(self):
        for old, new in (("name: schema", "name: schema"), *RIGHT):
            with self.subTest(old=old, new=new):
                job = self.changed(old, new)
                self.assertEqual(self.problems(job), [])
                self.assertTrue(self.is_valid(job), lockstep("check", "-", stdin=job).stderr)

    def test_a_job_that_only_observes_needs_no_target(self):
        job = "name: watch\nphases:\n  - observe: {duration: 10s, abort_if: {device_await: 1s}}\n"
        self.assertEqual(self.problems(job), [])
        self.assertTrue(self.is_valid(job), lockstep("check", "-", stdin=job).stderr)

    def test_merged_maps_are_valid(self):
        job = self.changed("{targets: data,", "&first {targets: data,").replace(
            "      expect:", "        - {<<: *first, name: second, read: 0%}\n      expect:"
        )
        self.assertEqual(self.problems(job), [])
        self.assertTrue(self.is_valid(job))

    def test_an_editor_has_the_words_of_the_reference(self):
        # The reference leaves out messages without fields.
        comments = re.sub(r"\s+(// ?)?", " ", text_of("proto/load.proto"))
        reference = " ".join(text_of("docs/reference/job.md").split()) + comments
        for name, definition in self.schema["$defs"].items():
            fields = definition.get("anyOf", [definition])[0]
            self.assertEqual(fields["additionalProperties"], False)
            for field, schema in fields["properties"].items():
                with self.subTest(field=f"{name}.{field}"):
                    # The first sentence of the comment; ranges are written as reports write them.
                    begin = schema.get("description", "").split(". ")[0].rstrip(".")
                    if not begin.startswith(("From ", "At least ", "At most ")):
                        self.assertIn(begin, reference)
        workload = self.schema["$defs"]["Workload"]["anyOf"][0]["properties"]
        self.assertEqual(workload["queue_depth"]["default"], 1)
        self.assertEqual(workload["block_size"]["default"], "4KiB")
        self.assertNotIn("block_size_bytes", workload)
        self.assertIn("Bytes per I/O", workload["block_size"]["description"])
        self.assertIn("From 512 B to 64 MiB.", workload["block_size"]["description"])
        engines = workload["engine"]["anyOf"][0]
        said = dict(zip(engines["enum"], engines["enumDescriptions"], strict=True))
        self.assertIn("Linux native AIO", said["libaio"])
