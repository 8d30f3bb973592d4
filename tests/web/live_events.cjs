// The events of a run in progress, as a controller would send them, for live_scenes_test.cjs.
const run = "11111111-2222-4333-8444-555555555555";
const job = "nightly-mixed";
const hosts = Array.from({ length: 9 }, (_, i) => `vm-${i + 1}`);

// In the page, in place of its own: the test says what comes.
function fakeEvents() {
  window.feeds = [];
  window.EventSource = class extends EventTarget {
    static CLOSED = 2;
    readyState = 1;
    constructor() {
      super();
      window.feeds.push(this);
    }
    close() {
      this.readyState = 2;
    }
  };
}

// Keeps the texts that charts write.
function keepWritten() {
  window.written = [];
  window.places = [];
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, ...rest) {
    window.written.push(text);
    window.places.push({ align: this.textAlign, at: x / this.canvas.width });
    return fillText.call(this, text, x, ...rest);
  };
}

let sequence = 0;
async function tell(page, ...events) {
  const numbered = events.map((event) => [String(2 ** 32 + ++sequence), JSON.stringify(event)]);
  await page.evaluate((all) => {
    const feed = window.feeds[window.feeds.length - 1];
    for (const [lastEventId, data] of all) feed.onmessage({ lastEventId, data });
  }, numbered);
}

const phase = (change = {}) => ({
  phase: {
    index: 1,
    count: 4,
    name: "mix",
    kind: "run",
    state: "running",
    expectedSeconds: 40,
    runHosts: 9,
    hosts,
    next: ["scan", "verify"],
    limits: [
      { figure: "iops", value: 5000, text: "iops >= 5,000" },
      { figure: "p99_ns", value: 8e6, text: "p99 <= 8 ms" },
    ],
    ...change,
  },
});

// The k-th second: `change` is what differs from a good one.
const second = (k, change = {}) => ({
  interval: {
    phase: 1,
    interval: k,
    intervalClass: "measured",
    endSeconds: k + 1,
    iops: 48700 - 40 * (k % 5),
    bytesPerSecond: 398e6,
    p50Ns: 1.2e6,
    p99Ns: 5.93e6,
    p999Ns: 12.4e6,
    kindIops: [34000, 14700],
    kindBytesPerSecond: [278e6, 120e6],
    hostQuantiles: [5200, 5300, 5411, 5480, 5500],
    jain: 0.9981,
    best: [0, 1],
    bestIops: [5500, 5490],
    worst: [8, 7],
    worstIops: [5200, 5230],
    allIops: hosts.map((_, i) => 5500 - 30 * i),
    hosts: 9,
    ...change,
  },
});
const stuck = (k, seconds) =>
  second(k, {
    iops: 0,
    bytesPerSecond: 0,
    p50Ns: 0,
    p99Ns: 0,
    p999Ns: 0,
    kindIops: [],
    kindBytesPerSecond: [],
    hostQuantiles: [0, 0, 0, 0, 0],
    jain: undefined,
    worstIops: [0, 0],
    bestIops: [0, 0],
    allIops: hosts.map(() => 0),
    silentHosts: 9,
    silentSeconds: seconds,
  });
const several = (count, make) => Array.from({ length: count }, (_, k) => make(k));

module.exports = { run, job, hosts, fakeEvents, keepWritten, tell, phase, second, stuck, several };
