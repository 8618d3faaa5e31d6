/**
 * Figures over time, as `/api/v1/figures` tells them: what all runs have kept, and what this one
 * has counted since. However many pages ask, the ledger is read once in a while.
 */
import { Bucket, ModelCounts, gaugedOf } from '../telemetry/figures/counting.ts';
import {
  others,
  scales,
  type KeptFigures,
  type Mark,
  type Span,
} from '../telemetry/figures/figures.ts';
import { changesIn } from '../telemetry/figures/rollup.ts';
import { LogHistogram } from '../lib/histogram.ts';
import type { AdminPorts } from './admin.ts';

/** For so long an answer is given again: a few times in each of its rows at most. */
const freshMs = { hour: 5_000, day: 15_000, month: 60_000 } as const satisfies Record<Span, number>;

/**
 * A list has a value a step, the oldest first; the last step is not over. `off`: no svc ran in it,
 * or before `since`, when the first that is kept begins: its counts are 0, and what is measured is
 * null, as it is where nothing was. Times of the whole are from acceptance to the delivered reply,
 * of a model those of its answers. `queue` and `deadLetters` are of the end of a step.
 */
export type FiguresSummary = {
  readonly span: Span;
  readonly from: number;
  readonly until: number;
  readonly stepMs: number;
  readonly since: number | null;
  readonly whole: CallFigures & {
    readonly accepted: readonly number[];
    readonly queue: readonly (number | null)[];
    readonly deadLetters: readonly (number | null)[];
  };
  /** Those that were called, the most first; of very many the rest is `others`. */
  readonly models: readonly ModelFigures[];
  readonly off: readonly boolean[];
  /** When another configuration was taken into use. */
  readonly configs: readonly Mark[];
};

type CallFigures = {
  readonly answered: readonly number[];
  readonly failed: readonly number[];
  readonly p50Ms: readonly (number | null)[];
  readonly p95Ms: readonly (number | null)[];
  /** Over the whole span. */
  readonly overall: { readonly p50Ms: number | null; readonly p95Ms: number | null };
  readonly inputTokens: readonly number[];
  readonly outputTokens: readonly number[];
};

type ModelFigures = CallFigures & { readonly model: string; readonly provider: string };

type Ports = Pick<AdminPorts, 'reader' | 'figures' | 'gauges' | 'now'>;

export class FiguresView {
  readonly #ports: Ports;
  readonly #fresh = new Fresh<Span, FiguresSummary>();

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** @throws ReadFailed */
  told(span: Span): Promise<FiguresSummary> {
    const now = this.#ports.now();
    return this.#fresh.told(span, freshMs[span], now, () => this.#read(span, now));
  }

  async #read(span: Span, now: number): Promise<FiguresSummary> {
    const { reader, figures, gauges } = this.#ports;
    const { lengthMs, stepMs, steps } = scales[span];
    const until = (Math.floor(now / stepMs) + 1) * stepMs;
    const from = until - steps * stepMs;
    const kept = await reader.figures({ lengthMs, stepMs, from, until, own: figures.atHand });
    const unkept = figures.unkept(kept.ownUntil, gaugedOf(gauges()));
    const buckets = kept.steps.map((body, at) => {
      return body === null ? null : Bucket.of(from + at * stepMs, body);
    });
    for (const minute of unkept) addTo(buckets, minute, Math.floor((minute.at - from) / stepMs));
    const since = sinceOf(kept, unkept);
    return { span, from, until, stepMs, since, ...tell(buckets), configs: marksOf(kept, unkept) };
  }
}

/** What waits is told by all instances once a minute: what this one has now is not the whole. */
function addTo(buckets: (Bucket | null)[], minute: Bucket, place: number): void {
  if (!(place in buckets)) return;
  const step = buckets[place] ?? new Bucket(minute.at);
  const { end } = step;
  step.add(minute);
  if (end !== null) step.end = end;
  buckets[place] = step;
}

function sinceOf({ since }: KeptFigures, unkept: readonly Bucket[]): number | null {
  const first = unkept[0]?.at ?? since;
  return since === null || first === null ? first : Math.min(since, first);
}

function marksOf({ marks, revisionBefore }: KeptFigures, unkept: readonly Bucket[]) {
  return changesIn([...marks, ...unkept.flatMap(({ configs }) => configs)], revisionBefore);
}

type Steps = readonly (Bucket | null)[];

function tell(steps: Steps): Pick<FiguresSummary, 'whole' | 'models' | 'off'> {
  const counted = (of: (bucket: Bucket) => number): number[] =>
    steps.map((step) => (step === null ? 0 : of(step)));
  const tokens = (of: (model: ModelCounts) => number): number[] =>
    counted(({ models }) => models.values().reduce((sum, model) => sum + of(model), 0));
  return {
    whole: {
      accepted: counted(({ accepted }) => accepted),
      answered: counted(({ answered }) => answered),
      failed: counted(({ failed }) => failed),
      ...timesOf(steps.map((step) => step?.times)),
      queue: steps.map((step) => step?.end?.queue ?? null),
      deadLetters: steps.map((step) => step?.end?.deadLetters ?? null),
      inputTokens: tokens(({ inputTokens }) => inputTokens),
      outputTokens: tokens(({ outputTokens }) => outputTokens),
    },
    models: modelsOf(steps),
    off: steps.map((step) => step === null),
  };
}

function modelsOf(steps: Steps): ModelFigures[] {
  const sum = new Bucket(0);
  for (const step of steps) if (step !== null) sum.add(step);
  const calls = ({ answered, failed }: ModelCounts): number => answered + failed;
  const models = [...sum.models].sort(([, one], [, other]) => calls(other) - calls(one));
  const shown = new Set(models.map(([name]) => name));
  return models.map(([model, { provider }]) => {
    const counts = steps.map((step) => (step === null ? null : countsOf(step, model, shown)));
    const counted = (of: (counts: ModelCounts) => number): number[] =>
      counts.map((one) => (one === null ? 0 : of(one)));
    return {
      model,
      provider,
      answered: counted(({ answered }) => answered),
      failed: counted(({ failed }) => failed),
      ...timesOf(counts.map((one) => one?.times)),
      inputTokens: counted(({ inputTokens }) => inputTokens),
      outputTokens: counted(({ outputTokens }) => outputTokens),
    };
  });
}

/** The model's own; to `others` belong all that are shown under no name of theirs. */
function countsOf(step: Bucket, model: string, shown: ReadonlySet<string>): ModelCounts | null {
  if (model !== others) return step.models.get(model) ?? null;
  const rest = new ModelCounts(others);
  for (const [name, counts] of step.models) {
    if (name === others || !shown.has(name)) rest.add(counts);
  }
  return rest;
}

function timesOf(times: readonly (LogHistogram | undefined)[]) {
  const overall = new LogHistogram();
  for (const one of times) if (one !== undefined) overall.add(one);
  const at = (share: number): (number | null)[] => times.map((one) => wholeMs(one, share));
  return {
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    overall: { p50Ms: wholeMs(overall, 0.5), p95Ms: wholeMs(overall, 0.95) },
  };
}

function wholeMs(times: LogHistogram | undefined, share: number): number | null {
  const ms = times?.quantile(share) ?? null;
  return ms === null ? null : Math.round(ms);
}

/** Of so many questions the answers are kept, the last ones. */
const questionsMax = 16;

/**
 * Answers that are given again for a while, so that what is read does not grow with those who ask.
 * A read that failed is no answer to who asks next.
 */
export class Fresh<Key, Told> {
  readonly #answers = new Map<Key, { readonly at: number; readonly told: Promise<Told> }>();

  /** @param now milliseconds since 1970 */
  told(key: Key, forMs: number, now: number, read: () => Promise<Told>): Promise<Told> {
    const isFresh = ({ at }: { readonly at: number }): boolean => Math.abs(now - at) < forMs;
    const kept = this.#answers.get(key);
    if (kept !== undefined && isFresh(kept)) return kept.told;
    const answer = { at: now, told: read() };
    this.#answers.delete(key);
    this.#answers.set(key, answer);
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > questionsMax) this.#answers.delete(oldest!);
    answer.told.catch(() => {
      if (this.#answers.get(key) === answer) this.#answers.delete(key);
    });
    return answer.told;
  }
}
