/** Rows of figures, as a run stores them. */
import { minuteMs } from '../../src/lib/durations.ts';
import { Bucket } from '../../src/telemetry/figures/counting.ts';
import { type FigureRow, type RowLength } from '../../src/telemetry/figures/figures.ts';

export type Busy = {
  readonly models: number;
  /** Of each model, in one row. */
  readonly calls: number;
};

/** The counts of a busy service: calls of all lengths, and tokens. */
export function busyBucket(at: number, { models, calls }: Busy, lengthMs = minuteMs): Bucket {
  const bucket = new Bucket(at);
  bucket.accepted = bucket.answered = models * calls;
  bucket.failed = Math.floor(calls / 100);
  for (let model = 0; model < models; model++) {
    const provider = model % 2 === 0 ? 'local_runtime' : 'hosted_runtime';
    const counts = bucket.model(`${provider}/a-model-of-some-size:${model}`, provider);
    counts.answered = calls;
    counts.failed = Math.floor(calls / 50);
    counts.inputTokens = 800 * calls + model;
    counts.outputTokens = 200 * calls + model;
    const lengths = Math.min(calls, 2_000);
    for (let call = 0; call < lengths; call++) {
      const ms = 200 * Math.exp(3 * ((call * 0.618 + model * 0.1) % 1));
      counts.times.observe(ms);
      bucket.times.observe(ms + 20);
    }
  }
  bucket.end = { at: at + lengthMs, queue: 12, deadLetters: 3 };
  bucket.revision = '0123456789ab';
  return bucket;
}

export function figureRow(run: number, bucket: Bucket, lengthMs: RowLength = minuteMs): FigureRow {
  return { lengthMs, at: bucket.at, run, body: JSON.stringify(bucket.body()) };
}
