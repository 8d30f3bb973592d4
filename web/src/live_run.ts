// A run in progress, as its events tell it.

import type {
  EventReport,
  FleetInterval,
  PhaseChange,
  ProgressUpdate,
  RunSummary,
  WatchEvent,
} from "./api";
import { markOf, mostMarks } from "./events";
import { LiveData, whole } from "./live_data";
import { Limits } from "./live_limits";
import type { Tone } from "./dom";

const inProgress = ["arming", "running", "draining"];

// When nothing came: phase, second, and why.
interface Absence {
  phase: number;
  at: number;
  why: string;
}

export class LiveRun {
  phases: PhaseChange[] = [];
  current = -1; // the phase of the last change
  phase = -1; // that of the figures
  names: string[] = []; // of its hosts
  data = new LiveData();
  limits = new Limits([]);
  progress?: { done: number; total: number };
  sampledAt = 0; // performance.now() of the last interval of the phase in progress
  errors = 0;
  warnings = 0;
  lastWarning = "";
  readonly absences: Absence[] = [];
  private notes: EventReport[] = []; // of people
  private lostAt?: [number, number];

  // `isNewPhase`: the figures are those of another phase from now on.
  constructor(
    public run: RunSummary,
    private readonly isNewPhase: () => void,
    private readonly hasEvent: (event: EventReport) => void,
  ) {}

  // The stream starts again at the beginning of the run.
  forget(): void {
    this.phases = [];
    this.phase = this.current = -1;
    this.errors = this.warnings = 0;
    this.lastWarning = "";
    this.notes = [];
    this.progress = undefined;
  }

  get change(): PhaseChange | undefined {
    return this.phases[this.current];
  }
  // The phase of the figures, as its last change says.
  get measured(): PhaseChange | undefined {
    return this.phases[this.phase];
  }
  // The figures are those of a phase that has ended.
  get isOver(): boolean {
    const { measured } = this;
    return !measured || this.phase !== this.current || !inProgress.includes(measured.state);
  }
  get isRunning(): boolean {
    return this.phase === this.current && this.measured?.state === "running";
  }
  get hosts(): number {
    return this.change?.runHosts || this.run.hosts;
  }
  nameOf(position: number): string {
    return this.names[position] ?? `host ${position + 1}`;
  }
  // Seconds since the last interval came.
  age(now: number): number {
    return this.sampledAt === 0 ? 0 : (now - this.sampledAt) / 1000;
  }

  take(event: WatchEvent): void {
    if (event.run) this.takeRun(event.run);
    if (event.phase) this.takePhase(event.phase);
    if (event.event) this.takeEvent(event.event);
    if (event.progress) this.takeProgress(event.progress);
    if (event.interval) this.takeInterval(whole(event.interval));
  }

  private takeRun(run: RunSummary): void {
    const changed = Object.fromEntries(Object.entries(run).filter(([, value]) => value));
    this.run = { ...this.run, ...changed };
  }

  // A field that a message leaves out is 0, or none.
  private takePhase(change: Partial<PhaseChange>): void {
    const phase: PhaseChange = {
      index: 0,
      count: 0,
      name: "",
      kind: "",
      state: "",
      expectedSeconds: 0,
      hosts: [],
      limits: [],
      waitingFor: [],
      lost: [],
      lostCount: 0,
      runHosts: 0,
      next: [],
      startedAt: "",
      ...change,
    };
    const before = this.phases[phase.index];
    const isAnother = phase.index !== this.current || before?.state !== phase.state;
    // Another attempt begins anew.
    if (isAnother && phase.state === "arming" && phase.index === this.phase) this.phase = -1;
    if (phase.hosts.length > 0) this.names = phase.hosts;
    this.phases[phase.index] = { ...phase, hosts: [] };
    this.current = phase.index;
    if (isAnother) this.progress = undefined;
    if (phase.index !== this.phase) {
      this.sampledAt = 0;
      return;
    }
    if (phase.waitingFor.length > 0) this.mark(`waiting for ${phase.waitingFor[0]}`, "warn");
    else if (phase.state === "draining") this.mark("draining", "plain");
  }

  private takeEvent(event: EventReport): void {
    this.hasEvent(event);
    if (event.severity === "info") return;
    if (event.severity === "note") {
      if (this.notes.length < mostMarks) this.notes.push(event);
      this.markNote(event);
      return;
    }
    this.warnings++;
    this.lastWarning = [event.host, event.message].filter(Boolean).join(": ");
    const { text, tone } = markOf(event);
    this.mark(text, tone);
  }

  private takeProgress({ doneBytes, totalBytes }: ProgressUpdate): void {
    if (totalBytes > 0) this.progress = { done: doneBytes ?? 0, total: totalBytes };
  }

  private takeInterval(interval: FleetInterval): void {
    if (interval.phase < this.phase) return; // it has that interval already
    if (interval.phase !== this.phase) this.begin(interval.phase);
    const { errors, last } = this.data;
    this.data.add(interval);
    this.errors += this.data.errors - errors;
    this.sampledAt = performance.now();
    if (this.data.last === last) return;
    this.limits.add(interval, this.data.begins[this.data.begins.length - 1]);
  }

  private begin(phase: number): void {
    this.phase = phase;
    this.data = new LiveData();
    this.limits = new Limits(this.phases[phase]?.limits ?? []);
    for (const { phase: of, at, why } of this.absences)
      if (of === phase) this.data.marks.push({ at, text: why, tone: "warn" });
    if (this.measured?.startedAt) for (const note of this.notes) this.markNote(note);
    this.isNewPhase();
  }

  // At the time that the note has: it may have been written later. Not in a phase that began after
  // that.
  private markNote(note: EventReport): void {
    const { text, tone } = markOf(note);
    const at = (Date.parse(note.at) - Date.parse(this.measured?.startedAt ?? "")) / 1000;
    if (Number.isNaN(at)) this.mark(text, tone);
    else if (at >= 0) this.mark(text, tone, at);
  }

  private mark(text: string, tone: Tone, at = this.data.last?.endSeconds ?? 0): void {
    const { marks } = this.data;
    if (this.phase < 0) return;
    if (marks.length >= mostMarks) {
      // Warnings do not keep out what is graver.
      const lesser = tone === "bad" ? marks.findIndex((one) => one.tone !== "bad") : -1;
      if (lesser < 0) return;
      marks.splice(lesser, 1);
    }
    const last = marks[marks.length - 1];
    if (last?.at !== at || last.text !== text) marks.push({ at, text, tone });
  }

  // Nothing comes any more.
  isLost(): void {
    if (this.phase >= 0 && !this.lostAt && this.data.last)
      this.lostAt = [this.phase, this.data.last.endSeconds];
  }
  // Events come again.
  isBack(why: string): Absence | undefined {
    if (!this.lostAt) return undefined;
    const [phase, at] = this.lostAt;
    this.lostAt = undefined;
    if (this.absences.length >= mostMarks) return undefined;
    const absence = { phase, at, why };
    this.absences.push(absence);
    if (phase === this.phase) this.data.marks.push({ at, text: why, tone: "warn" });
    return absence;
  }
}
