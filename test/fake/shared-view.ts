/** The shared view of instances, in this process. A test may hold it back, or make it fail. */
import type { LiveEventBatch, SharedSnapshot, SharedView } from '../../src/cluster/backend.ts';
import type { RowsOfChannel } from '../../src/cluster/cluster.ts';

export class FakeView {
  readonly reports = new Map<number, { readonly report: string; readonly at: number }>();
  readonly lots: LiveEventBatch[] = [];
  rows: readonly RowsOfChannel[] = [];
  /** Every call waits for it; its rejection is the call's failure. */
  way: Promise<void> = Promise.resolve();
  /** In milliseconds; the age of reports is measured by it. */
  clockMs = 0;
  sweeps = 0;
  /** The number of calls by name. */
  readonly asked: Record<string, number> = {};

  readonly view: SharedView = {
    publish: (instance, report) =>
      this.#pass('publish', () => void this.reports.set(instance, { report, at: this.clockMs })),
    readReports: () => this.#pass('readReports', () => this.#look()),
    publishEvents: (liveEventBatch) =>
      this.#pass('publishEvents', () => void this.lots.push(liveEventBatch)),
    newest: () =>
      this.#pass('newest', () => new Map(this.lots.map(({ instance, n }) => [instance, n]))),
    readBatches: (after) =>
      this.#pass('readBatches', () =>
        this.lots.filter(({ instance, n }) => n > (after.get(instance) ?? Infinity)),
      ),
    sweep: () => this.#pass('sweep', () => void this.sweeps++),
    [Symbol.asyncDispose]: async () => {},
  };

  #look(): SharedSnapshot {
    const reports = Array.from(this.reports, ([instance, { report, at }]) => {
      return { instance, report, ageMs: this.clockMs - at };
    });
    return { reports, rows: this.rows };
  }

  async #pass<Answer>(name: string, act: () => Answer): Promise<Answer> {
    this.asked[name] = (this.asked[name] ?? 0) + 1;
    await this.way;
    return act();
  }
}
