/**
 * Counts what happens in the minute of now, as the hub of events tells it: a few numbers in
 * objects that are there. Whoever keeps the figures ends the minutes, and has the rows.
 */
import type { Events } from '../../domain/event.ts';
import { isNews } from '../meters.ts';
import { Bucket } from './bucket.ts';
import { hourMs, minuteMs } from './figures.ts';
import type { AtHand, Ending, FigureRow } from './figures.ts';

type Of<Name extends keyof Events> = Parameters<Events[Name]>[0];

/** What there is at the end of a minute. */
export type Gauged = Omit<Ending, 'at'>;

type Waiting = 'inboxWaiting' | 'outboxWaiting' | 'outboxDeferred';

export function gaugedOf(gauges: Readonly<Record<Waiting | 'deadLetters', number>>): Gauged {
  const { inboxWaiting, outboxWaiting, outboxDeferred, deadLetters } = gauges;
  return { queue: inboxWaiting + outboxWaiting + outboxDeferred, deadLetters };
}

/** Ended minutes that are at hand for who reads, so that none is missing until it is kept. */
const recentMax = 60;

export class FigureCounts {
  readonly #now: () => number;
  readonly #newRun: () => number;
  #run: number;
  #minute: Bucket;
  /** All minutes of this hour that have ended. */
  #hour: Bucket;
  #recent: Bucket[] = [];
  #revision: string | null = null;

  /** @param newRun a number that nobody else has */
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
    else this.#minute.failed++;
  }

  commandAnswered(): void {
    this.#minute.answered++;
  }

  answeredByOperator(): void {
    this.#minute.answered++;
  }

  /** A message that is a dead letter has no finished turn. */
  buried({ box }: Of<'buried'>): void {
    if (box === 'in') this.#minute.failed++;
  }

  /** A call that svc itself gave up has no answer, and failed at nothing. */
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

  /** A clock that was set back begins another run: minutes come anew that were kept. */
  get atHand(): AtHand {
    const first = this.#recent[0]?.at ?? this.#minute.at;
    return { run: this.#run, first, last: this.#minute.at };
  }

  /**
   * Ends the minute where another one has begun.
   * @returns the rows that are to be kept: the minute's, and its hour's; none: it goes on
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

  /** The rows of now, for who keeps them before the minute has ended, since svc ends. */
  rowsNow(now: number, gauged: Gauged): readonly FigureRow[] {
    const minute = this.#minuteNow({ at: now, ...gauged });
    return [this.#row(minuteMs, minute), this.#row(hourMs, this.#hourWith(minute))];
  }

  /**
   * The minutes of this run that come after the last one that is kept, and the minute of now.
   * @param keptUntil when that one begins; null: none is kept
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
