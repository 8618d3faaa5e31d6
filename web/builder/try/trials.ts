/** Trials of draft brains; their results stay while the page is open. */
import { create } from 'zustand';
import type { TrialEvent, TryResult } from '../../../src/admin/config-trials.ts';
import { ask, longLimitMs, refusedWith, type Answered, type Refused } from '../../kit/api.ts';
import { lastEvent } from '../../kit/events.ts';
import { useToken } from '../../kit/token.ts';
import { useDraft } from '../document/store.ts';
import type { Earlier } from '../../../src/config/test-case.ts';
import type { TestCase } from './cases.ts';

/** `text`: the partial reply. */
export type Trial =
  | { readonly kind: 'asking'; readonly text: string }
  | { readonly kind: 'told'; readonly result: TryResult; readonly at: number }
  | { readonly kind: 'refused'; readonly refused: Refused };

/** `before`: the former result of the same text. */
export type Run = { readonly now: Trial; readonly before: TryResult | null };

type Trials = {
  readonly runs: ReadonlyMap<string, Run>;
  /** True: a series of trials runs, one after the other. */
  readonly series: boolean;
  /** Typed text that is not saved, by the brain's name. */
  readonly asked: ReadonlyMap<string, Asked>;
};

export type Asked = Pick<Attempt, 'text' | 'history' | 'channel' | 'isPrivate'>;

const none = { runs: new Map(), series: false, asked: new Map() };

export const useTrials = create<Trials>(() => none);

export const nothingAsked: Asked = { text: '', history: [], channel: '', isPrivate: false };

export function write(brain: string, part: Partial<Asked>): void {
  useTrials.setState(({ asked }) => {
    return { asked: new Map(asked).set(brain, { ...(asked.get(brain) ?? nothingAsked), ...part }) };
  });
}

/** The key of a text and its history on one brain. */
export function keyOf(brain: string, { text, history }: Omit<TestCase, 'note'>): string {
  return JSON.stringify([brain, text, history.map(({ asked, answered }) => [asked, answered])]);
}

const under = new Map<string, AbortController>();

export type Attempt = {
  readonly brain: string;
  readonly text: string;
  readonly history: readonly Earlier[];
  /** Decides the grants of an agent; empty: the channel that is routed to the brain. */
  readonly channel: string;
  /** Sensitivity label: true asks no remote model, whatever the draft's brain says. */
  readonly isPrivate: boolean;
};

/** Runs a trial of the draft as it is now. */
export async function attempt(asked: Attempt): Promise<void> {
  const { brain, text, history, channel, isPrivate } = asked;
  const key = keyOf(brain, { text, history });
  const known = useTrials.getState().runs.get(key);
  const before = known?.now.kind === 'told' ? known.now.result : (known?.before ?? null);
  under.get(key)?.abort();
  const leaving = new AbortController();
  under.set(key, leaving);
  const isUnderWay = (): boolean => under.get(key) === leaving;
  const show = (reply: string): void => {
    if (isUnderWay()) put(key, { now: { kind: 'asking', text: reply }, before });
  };
  const growing = new GrowingReply(show);
  show('');
  const answer = await ask<TrialEvent | null>('config/try', {
    method: 'POST',
    body: {
      config: useDraft.getState().text,
      brain,
      text,
      ...(channel === '' ? {} : { channel }),
      ...(isPrivate ? { sensitivity: 'private' } : {}),
      ...(history.length === 0 ? {} : { history }),
    },
    signal: leaving.signal,
    limitMs: longLimitMs,
    readStream: lastEvent((event) => growing.hear(event as TrialEvent)),
  });
  if (!isUnderWay()) return;
  under.delete(key);
  put(key, { now: endOf(answer), before });
}

/** Collects partial replies and shows them once per frame. */
class GrowingReply {
  readonly #show: (reply: string) => void;
  #text = '';
  #isDue = false;

  constructor(show: (reply: string) => void) {
    this.#show = show;
  }

  hear(event: TrialEvent): void {
    if (event.kind !== 'more' && event.kind !== 'anew') return;
    this.#text = event.kind === 'more' ? this.#text + event.text : event.text;
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#show(this.#text);
    });
  }
}

function endOf(answer: Answered<TrialEvent | null>): Trial {
  if (answer.kind === 'refused') return { kind: 'refused', refused: answer };
  const { value: last } = answer;
  if (last?.kind === 'result') return { kind: 'told', result: last.result, at: Date.now() };
  const refused =
    last?.kind === 'problem'
      ? refusedWith(last.problem.status, JSON.stringify(last.problem))
      : brokenOff;
  return { kind: 'refused', refused };
}

const brokenOff: Refused = {
  kind: 'refused',
  status: 0,
  code: 'broken_off',
  detail: 'The answer broke off before its end. Ask again.',
  extra: {},
};

/** One after the other, since the service runs only a few at once. */
export async function attemptAll(attempts: readonly Attempt[]): Promise<void> {
  if (useTrials.getState().series) return;
  useTrials.setState({ series: true });
  for (const one of attempts) {
    if (!useTrials.getState().series) break;
    await attempt(one);
  }
  useTrials.setState({ series: false });
}

/** Ends the running trials; the service stops asking the models. */
export function stopAll(): void {
  useTrials.setState({ series: false });
  for (const leaving of under.values()) leaving.abort();
}

/** The next person who signs in sees none of these trials. */
useToken.subscribe(({ token }) => {
  if (token !== null) return;
  stopAll();
  under.clear();
  useTrials.setState(none);
});

function put(key: string, run: Run): void {
  useTrials.setState(({ runs }) => ({ runs: new Map(runs).set(key, run) }));
}
