/**
 * Counts what happens in the current minute, from the events of the hub, in a few numbers. The
 * caller that stores the figures ends the minutes and receives the rows.
 */
import { hourMs, minuteMs } from '../../lib/durations.ts';
import type { Events } from '../../domain/event.ts';
import { isNews } from '../meters.ts';
import {
  marksOfRowMax,
  modelsMax,
  others,
  type AtHand,
  type Ending,
  type FigureRow,
  type Body,
  type Mark,
  type ModelBody,
} from './figures.ts';
import { LogHistogram } from '../../lib/histogram.ts';

type Of<Name extends keyof Events> = Parameters<Events[Name]>[0];

/** Gauges at the end of a minute. */
export type Gauged = Omit<Ending, 'at'>;

type Waiting = 'inboxWaiting' | 'outboxWaiting' | 'outboxDeferred';

export function gaugedOf(gauges: Readonly<Record<Waiting | 'deadLetters', number>>): Gauged {
  const { inboxWaiting, outboxWaiting, outboxDeferred, deadLetters } = gauges;
  return { queue: inboxWaiting + outboxWaiting + outboxDeferred, deadLetters };
}

/** Ended minutes that stay in memory for readers, so that none is missing before it is stored. */
const recentMax = 60;

export class FigureCounts {
  readonly #now: () => number;
  readonly #newRun: () => number;
  #run: number;
  #minute: Bucket;
  /** The sum of all ended minutes of this hour. */
  #hour: Bucket;
  #recent: Bucket[] = [];
  #revision: string | null = null;

  /** @param newRun returns a number that no other run has */
  constructor(now: () => number, newRun: () => number = randomRun) {
    this.#now = now;
    this.#newRun = newRun;
    this.#run = newRun();
    this.#minute = new Bucket(startOf(now(), minuteMs));
    this.#hour = new Bucket(startOf(now(), hourMs));
  }

  messageAccepted({ duplicate }: Of<'messageAccepted'>): void {
    if (!duplicate) this.#minute.accepted++;
  }

  turnFinished({ decision }: Of<'turnFinished'>): void {
    if (decision.kind === 'reply') this.#minute.answered++;
    else if (decision.kind === 'apology') this.#minute.failed++;
  }

  commandAnswered(): void {
    this.#minute.answered++;
  }

  answeredByOperator(): void {
    this.#minute.answered++;
  }

  /** A dead-lettered message has no finished turn. */
  buried({ box }: Of<'buried'>): void {
    if (box === 'in') this.#minute.failed++;
  }

  /** A call that svc itself gave up counts neither as answered nor as failed. */
  modelAnswered({ model, provider, result, ms }: Of<'modelAnswered'>): void {
    if (result !== 'answer') {
      if (isNews(result)) this.#minute.model(model, provider).failed++;
      return;
    }
    const counts = this.#minute.model(model, provider);
    counts.answered++;
    counts.times.observe(ms);
  }

  modelSpent({ model, used }: Of<'modelSpent'>): void {
    const counts = this.#minute.model(model, model.split('/', 1)[0]!);
    counts.inputTokens += used.input;
    counts.outputTokens += used.output;
  }

  replyDelivered({ totalMs }: Of<'replyDelivered'>): void {
    this.#minute.times.observe(totalMs);
  }

  configUsed({ revision }: Of<'configUsed'>): void {
    this.#revision = revision;
    this.#minute.mark({ at: this.#now(), revision });
  }

  /**
   * The minutes in memory. Setting the clock back begins another run, since stored minutes come
   * again.
   */
  get atHand(): AtHand {
    const first = this.#recent[0]?.at ?? this.#minute.at;
    return { run: this.#run, first, last: this.#minute.at };
  }

  /**
   * Ends the minute when another one has begun.
   * @returns the rows to store: the minute's and its hour's; none while the minute goes on
   */
  turn(now: number, gauged: Gauged): readonly FigureRow[] {
    const next = startOf(now, minuteMs);
    const ended = this.#minute;
    if (next === ended.at) return [];
    ended.end = { at: ended.at + minuteMs, ...gauged };
    ended.revision = this.#revision;
    this.#hour = this.#hourWith(ended);
    const rows = [this.#row(minuteMs, ended), this.#row(hourMs, this.#hour)];
    this.#minute = new Bucket(next);
    this.#recent = [...this.#recent, ended].slice(-recentMax);
    if (next < ended.at) this.#beginAnew(next);
    return rows;
  }

  /** The rows of the unfinished minute and its hour, to store when svc stops. */
  rowsNow(now: number, gauged: Gauged): readonly FigureRow[] {
    const minute = this.#minuteNow({ at: now, ...gauged });
    return [this.#row(minuteMs, minute), this.#row(hourMs, this.#hourWith(minute))];
  }

  /**
   * The minutes of this run after the last stored one, and the current minute.
   * @param keptUntil when the last stored minute begins; null: none is stored
   */
  unkept(keptUntil: number | null, gauged: Gauged): readonly Bucket[] {
    const minute = this.#minuteNow({ at: this.#minute.at + minuteMs, ...gauged });
    return [...this.#recent, minute].filter(({ at }) => keptUntil === null || at > keptUntil);
  }

  #minuteNow(end: Ending): Bucket {
    const minute = new Bucket(this.#minute.at);
    minute.add(this.#minute);
    minute.end = end;
    minute.revision = this.#revision;
    return minute;
  }

  #hourWith(minute: Bucket): Bucket {
    const at = startOf(minute.at, hourMs);
    const hour = new Bucket(at);
    if (this.#hour.at === at) hour.add(this.#hour);
    hour.add(minute);
    return hour;
  }

  #beginAnew(at: number): void {
    this.#run = this.#newRun();
    this.#hour = new Bucket(startOf(at, hourMs));
    this.#recent = [];
  }

  #row(lengthMs: FigureRow['lengthMs'], bucket: Bucket): FigureRow {
    return { lengthMs, at: bucket.at, run: this.#run, body: JSON.stringify(bucket.body()) };
  }
}

const startOf = (at: number, lengthMs: number): number => Math.floor(at / lengthMs) * lengthMs;

const randomRun = (): number => Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);

/** One model's counts within a bucket. */
export class ModelCounts {
  readonly provider: string;
  answered = 0;
  failed = 0;
  inputTokens = 0;
  outputTokens = 0;
  /** Durations of calls with an answer. */
  readonly times = new LogHistogram();

  constructor(provider: string) {
    this.provider = provider;
  }

  add(other: ModelCounts): void {
    this.answered += other.answered;
    this.failed += other.failed;
    this.inputTokens += other.inputTokens;
    this.outputTokens += other.outputTokens;
    this.times.add(other.times);
  }
}

export class Bucket {
  /** When the bucket begins, milliseconds since 1970. */
  readonly at: number;
  accepted = 0;
  answered = 0;
  failed = 0;
  /** Times from acceptance to the delivered reply. */
  readonly times = new LogHistogram();
  readonly models = new Map<string, ModelCounts>();
  end: Ending | null = null;
  revision: string | null = null;
  configs: readonly Mark[] = [];

  constructor(at: number) {
    this.at = at;
  }

  static of(at: number, body: Body): Bucket {
    const bucket = new Bucket(at);
    bucket.addBody(body);
    return bucket;
  }

  /** Models beyond `modelsMax` share one entry. */
  model(name: string, provider: string): ModelCounts {
    const known = this.models.get(name);
    if (known !== undefined) return known;
    const isKept = this.models.size < modelsMax || name === others;
    if (!isKept) return this.model(others, others);
    const counts = new ModelCounts(provider);
    this.models.set(name, counts);
    return counts;
  }

  mark(mark: Mark): void {
    this.revision = mark.revision;
    this.configs = [...this.configs, mark].slice(-marksOfRowMax);
  }

  add(other: Bucket): void {
    this.accepted += other.accepted;
    this.answered += other.answered;
    this.failed += other.failed;
    this.times.add(other.times);
    for (const [name, counts] of other.models) this.model(name, counts.provider).add(counts);
    this.#addEnd(other);
  }

  addBody(body: Body): void {
    this.accepted += body.accepted;
    this.answered += body.answered;
    this.failed += body.failed;
    this.times.addTold(body.times);
    for (const one of body.models) {
      const counts = this.model(one.model, one.provider);
      counts.answered += one.answered;
      counts.failed += one.failed;
      counts.inputTokens += one.inputTokens;
      counts.outputTokens += one.outputTokens;
      counts.times.addTold(one.times);
    }
    this.#addEnd(body);
  }

  body(): Body {
    const { accepted, answered, failed, end, revision, configs } = this;
    const models = Array.from(this.models, ([model, { times, ...rest }]): ModelBody => {
      return { model, ...rest, times: times.told() };
    });
    return { accepted, answered, failed, times: this.times.told(), end, models, revision, configs };
  }

  /**
   * Merges the end of a bucket. Of two ends at the same time the queues add up, since each run has
   * its own waiting rows. The dead letters are those of all runs. An earlier end is dropped: that
   * run has left its rows to the others.
   */
  #addEnd({ end, revision, configs }: Pick<Body, 'end' | 'revision' | 'configs'>): void {
    if (end !== null && (this.end === null || end.at > this.end.at)) this.end = end;
    else if (end !== null && end.at === this.end?.at) {
      const deadLetters = Math.max(end.deadLetters, this.end.deadLetters);
      this.end = { at: end.at, queue: end.queue + this.end.queue, deadLetters };
    }
    this.revision = revision ?? this.revision;
    if (configs.length > 0) this.configs = [...this.configs, ...configs].slice(-marksOfRowMax);
  }
}

/** @returns null when this release cannot read it */
export function readBody(text: string): Body | null {
  let read: Partial<Record<keyof Body, unknown>> | null;
  try {
    read = JSON.parse(text) as typeof read;
  } catch {
    return null;
  }
  if (typeof read !== 'object' || read === null) return null;
  return {
    accepted: countOf(read.accepted),
    answered: countOf(read.answered),
    failed: countOf(read.failed),
    times: countsOf(read.times),
    end: endingOf(read.end),
    models: listOf(read.models).map(modelOf),
    revision: typeof read.revision === 'string' ? read.revision : null,
    configs: listOf(read.configs).map(({ at, revision }) => {
      return { at: countOf(at), revision: String(revision) };
    }),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function modelOf(one: Fields): ModelBody {
  return {
    model: String(one['model']),
    provider: String(one['provider']),
    answered: countOf(one['answered']),
    failed: countOf(one['failed']),
    inputTokens: countOf(one['inputTokens']),
    outputTokens: countOf(one['outputTokens']),
    times: countsOf(one['times']),
  };
}

function endingOf(value: unknown): Ending | null {
  const [end] = listOf([value]);
  if (end === undefined) return null;
  const { at, queue, deadLetters } = end;
  return { at: countOf(at), queue: countOf(queue), deadLetters: countOf(deadLetters) };
}

const listOf = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'object' && one !== null) : [];

const countsOf = (value: unknown): number[] => (Array.isArray(value) ? value.map(countOf) : []);

function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}
