/**
 * Figures over time for `/api/v1/figures`: the stored figures of all runs, and this run's newest
 * counts. The ledger is read once in a while, however many pages ask.
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
import { setNewest } from '../lib/cache.ts';

/** How long an answer is reused, always less than a step. */
const freshMs = { hour: 5_000, day: 15_000, month: 60_000 } as const satisfies Record<Span, number>;

/**
 * Each list has one value a step, oldest first; the last step is not over. `off`: no svc ran in the
 * step, or it is before `since`, when the first stored step begins. Its counts are 0 and its
 * measurements null. Measurements are also null if nothing was measured. The whole's times run from
 * acceptance to the delivered reply, a model's times are its answers'. `queue` and `deadLetters`
 * are of the end of a step.
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
  /** Models that were called, the most called first; beyond a limit the rest is `others`. */
  readonly models: readonly ModelFigures[];
  readonly off: readonly boolean[];
  /** When another configuration came into use. */
  readonly configs: readonly Mark[];
};

type CallFigures = {
  readonly answered: readonly number[];
  readonly failed: readonly number[];
  readonly p50Ms: readonly (number | null)[];
  readonly p95Ms: readonly (number | null)[];
  /** Times over the whole span. */
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
  summary(span: Span): Promise<FiguresSummary> {
    const now = this.#ports.now();
    return this.#fresh.summary(span, freshMs[span], now, () => this.#read(span, now));
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
    return {
      span,
      from,
      until,
      stepMs,
      since,
      ...summaryOf(buckets),
      configs: marksOf(kept, unkept),
    };
  }
}

/**
 * Adds a minute that is not stored yet. It keeps the stored gauges of the step, which are of all
 * processes: this one's current gauges are only a part.
 */
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

function summaryOf(steps: Steps): Pick<FiguresSummary, 'whole' | 'models' | 'off'> {
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

/** The model's own counts. `others` sums all models that are not shown by name. */
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

/** How many answers are cached, the last ones. */
const questionsMax = 16;

/**
 * Caches answers for a while, so that the number of reads does not grow with the number of callers.
 * A failed read is not cached.
 */
export class Fresh<Key, Answer> {
  readonly #answers = new Map<Key, { readonly at: number; readonly answer: Promise<Answer> }>();

  /** @param now milliseconds since 1970 */
  summary(key: Key, forMs: number, now: number, read: () => Promise<Answer>): Promise<Answer> {
    const isFresh = ({ at }: { readonly at: number }): boolean => Math.abs(now - at) < forMs;
    const kept = this.#answers.get(key);
    if (kept !== undefined && isFresh(kept)) return kept.answer;
    const answer = { at: now, answer: read() };
    setNewest(this.#answers, key, answer, questionsMax);
    answer.answer.catch(() => {
      if (this.#answers.get(key) === answer) this.#answers.delete(key);
    });
    return answer.answer;
  }
}
