// Answers of a controller about runs and workers, made up for lists_scenes_test.cjs.
const idOf = (i) => `${String(i).padStart(8, "0")}-2222-4333-8444-555555555555`;
const minute = 60000;

const runOf = (i, change = {}) => ({
  runId: idOf(i),
  jobName: "nightly-mixed-with-a-long-name",
  owner: "ops",
  labels: { firmware: i % 2 ? "1.3" : "1.2", array: "blue" },
  state: "done",
  outcome: "",
  submittedAt: new Date(Date.now() - (i + 1) * minute).toISOString().replace(/\.\d+/, ""),
  startedAt: "",
  endedAt: "",
  hosts: 8,
  degraded: false,
  iops: 48700,
  bytesPerSecond: 398e6,
  expectations: "",
  invalid: false,
  synthetic: false,
  verdict: i === 0 ? "expectations failed" : "passed",
  endProblem: "",
  ...change,
});
const runs = Array.from({ length: 100 }, (_, i) => runOf(i));
const headOf = (id) => ({
  run: runs.find((run) => run.runId.startsWith(id)),
  description: "",
  phases: [],
  events: [],
  environment: {},
  sweeps: [],
  curves: [],
  seed: "1",
  version: "0.1.0",
  verdict: { word: "passed", good: true, over: true, reasons: [], warnings: [], moreWarnings: 0 },
});

const workerOf = (i, change = {}) => ({
  hello: {
    host: { name: `vm-${i + 1}`, cpus: 4, memoryBytes: "8589934592", kernel: "6.1.0" },
    softwareVersion: "0.1.0",
    labels: {},
    allow: ["/mnt/san"],
    allowExpendable: [],
  },
  runId: i === 4 || i === 5 ? idOf(0) : "",
  clockOffsetNs: 1000,
  clockBoundNs: 2000,
  roundTripNs: 3000,
  wallDifferenceNs: 4000,
  clockDriftPpm: 0.1,
  clockDriftBoundPpm: 0.2,
  disconnected: i === 8,
  ...change,
});

// name, unit, direction, the medians, the change and its interval, the verdict.
const figures = [
  ["iops", "1/s", "HIGHER", 48700, 54544, [0.12, 0.09, 0.15], "BETTER"],
  ["p50", "ns", "LOWER", 1.2e6, 0.97e6, [-0.19, -0.24, -0.15], "BETTER"],
  ["p99", "ns", "LOWER", 5.9e6, 5.7e6, [-0.03, -0.12, 0.08], "NONE"],
  ["p99.9", "ns", "LOWER", 12e6, 27.6e6, [1.3, 0.9, 1.7], "WORSE"],
];
function comparisonOf(sets) {
  const canTell = sets[0].length >= 4;
  const values = ([, , , before, after, [change, changeLow, changeHigh], verdict]) => [
    { runs: sets[0].length, median: before },
    {
      runs: sets[1].length,
      median: after,
      change,
      // Of too few runs no interval is known.
      ...(canTell ? { changeLow, changeHigh } : {}),
      verdict: `CHANGE_${canTell ? verdict : "UNKNOWN"}`,
      mayBeDrift: false,
    },
  ];
  return {
    sets: sets.map((all) => ({ name: all[0].slice(0, 8), runs: all })),
    figures: figures.map((one) => ({
      phase: "mix",
      workload: "",
      kind: "total",
      figure: one[0],
      unit: one[1],
      direction: `DIRECTION_${one[2]}_IS_BETTER`,
      judged: true,
      values: values(one),
    })),
    warnings: canTell ? [] : ["too few runs to tell B (1) from A (1): 4 of each are the fewest"],
    canTell: [canTell],
    regressions: 0,
    missing: 0,
    limits: [],
  };
}

const noted = (id) =>
  id === idOf(1)
    ? [
        {
          at: "2026-11-23T20:47:13Z",
          severity: "note",
          host: "",
          author: "anna",
          number: 2,
          message: "a path was pulled",
        },
      ]
    : [];

module.exports = { idOf, runOf, runs, headOf, workerOf, comparisonOf, noted };
