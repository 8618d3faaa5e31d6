/** What happened in one minute or hour: counted by one run, or added up of several. */
import { LogHistogram } from '../../lib/log-histogram.ts';
import { marksOfRowMax, modelsMax, others } from './figures.ts';
import type { Body, Ending, Mark, ModelBody } from './figures.ts';

export class ModelCounts {
  readonly provider: string;
  answered = 0;
  failed = 0;
  inputTokens = 0;
  outputTokens = 0;
  /** Of calls that gave an answer. */
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
  /** When it begins, milliseconds since 1970. */
  readonly at: number;
  accepted = 0;
  answered = 0;
  failed = 0;
  /** From acceptance to the delivered reply. */
  readonly times = new LogHistogram();
  readonly models = new Map<string, ModelCounts>();
  end: Ending | null = null;
  revision: string | null = null;
  configs: readonly Mark[] = [];

  constructor(at: number) {
    this.at = at;
  }

  static of(at: number, body: Body): Bucket {
    const made = new Bucket(at);
    made.addBody(body);
    return made;
  }

  /** Of too many models the rest is one. */
  model(name: string, provider: string): ModelCounts {
    const met = this.models.get(name);
    if (met !== undefined) return met;
    const isKept = this.models.size < modelsMax || name === others;
    if (!isKept) return this.model(others, others);
    const made = new ModelCounts(provider);
    this.models.set(name, made);
    return made;
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
    this.#addRest(other);
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
    this.#addRest(body);
  }

  body(): Body {
    const { accepted, answered, failed, end, revision, configs } = this;
    const models = Array.from(this.models, ([model, { times, ...rest }]): ModelBody => {
      return { model, ...rest, times: times.told() };
    });
    return { accepted, answered, failed, times: this.times.told(), end, models, revision, configs };
  }

  /**
   * Of ends at one time each has rows of its own that wait; the dead letters are those of all. One
   * that ended before has left what it had to the others.
   */
  #addRest({ end, revision, configs }: Pick<Body, 'end' | 'revision' | 'configs'>): void {
    if (end !== null && (this.end === null || end.at > this.end.at)) this.end = end;
    else if (end !== null && end.at === this.end?.at) {
      const deadLetters = Math.max(end.deadLetters, this.end.deadLetters);
      this.end = { at: end.at, queue: end.queue + this.end.queue, deadLetters };
    }
    this.revision = revision ?? this.revision;
    if (configs.length > 0) this.configs = [...this.configs, ...configs].slice(-marksOfRowMax);
  }
}

/** @returns null: it is not what this release can read */
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
