/**
 * One session of the first run: it feeds answers to the state machine, has the world carry out its
 * effects, and holds the values of secrets.
 */
import { pageOf } from './pages.ts';
import type { Answer, Frontend, Page, SetupEnd, SetupSession } from './setup.ts';
import type { Effect, EffectResult, SetupState, Step } from './state.ts';
import { begin, next } from './steps.ts';

/**
 * Values of secrets by their names, pasted or generated; they go from here to the code that uses
 * them.
 */
export type SecretValues = Map<string, string>;

/** The world outside the steps: everything that they read or change there. One for each session. */
export interface SetupWorld extends AsyncDisposable {
  /**
   * Carries out an effect of the state machine. A failure outside is part of the result, not a
   * rejection.
   * @param secretValues receives the values that `write` generates
   * @param signal aborts when nobody waits for the result any more; the result is then ignored
   */
  act(effect: Effect, secretValues: SecretValues, signal: AbortSignal): Promise<EffectResult>;
  /** How the service that was started ended. Stays pending if none was started. Never rejects. */
  readonly served: Promise<SetupEnd>;
}

/** @param world the caller closes it, after the session */
export function openSetup(world: SetupWorld, frontend: Frontend = 'terminal'): SetupSession {
  return new Session(world, frontend);
}

/** The most characters of a pasted text. */
const fieldMax = 4_096;

/** From these steps on, values of secrets stay in memory: something uses them. */
const inUse: ReadonlySet<Step['at']> = new Set(['write', 'start', 'first', 'over']);

class Session implements SetupSession {
  readonly #world: SetupWorld;
  readonly #secretValues: SecretValues = new Map();
  readonly #ended = Promise.withResolvers<SetupEnd>();
  #state: SetupState;
  #revision = 1;
  #page: Page;
  #effectAbort: AbortController | null = null;
  #effectDone: Promise<void> = Promise.resolve();
  #changed = Promise.withResolvers<void>();

  constructor(world: SetupWorld, frontend: Frontend) {
    this.#world = world;
    this.#state = begin(frontend);
    this.#page = pageOf(this.#state);
    this.#startEffect();
    void this.#awaitServed(world);
  }

  get revision(): number {
    return this.#revision;
  }

  get page(): Page {
    return this.#page;
  }

  get frontend(): Frontend {
    return this.#state.facts.frontend;
  }

  get goesOn(): boolean {
    const { step } = this.#state;
    return step.at === 'over' && step.end.kind === 'goes_on';
  }

  get ended(): Promise<SetupEnd> {
    return this.#ended.promise;
  }

  answer({ choice, fields }: Answer, revision: number): 'taken' | 'stale' | 'not_offered' {
    if (revision !== this.#revision) return 'stale';
    const offered = this.#page.choices.find(({ id }) => id === choice);
    if (offered === undefined) return 'not_offered';
    const taken = this.#page.fields.filter(({ name }) => offered.takes.includes(name));
    const given = taken.map((field) => {
      const written = Object.hasOwn(fields, field.name) ? (fields[field.name] ?? '') : '';
      return { ...field, given: field.kind === 'secret' ? written.trim() : written };
    });
    const isWrong = given.some(
      (one) => one.given.length > fieldMax || (one.given === '' && !one.isOptional),
    );
    if (isWrong) return 'not_offered';
    const values: Record<string, string> = {};
    for (const { kind, name, given: value } of given) {
      if (kind === 'secret' && value !== '') this.#secretValues.set(name, value);
      values[name] = kind === 'secret' && value !== '' ? 'pasted' : value;
    }
    this.#setState(next(this.#state, { kind: 'chose', choice, fields: values }));
    return 'taken';
  }

  async changed(since: number, signal?: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<never>();
    const leave = (): void => aborted.reject(signal?.reason);
    if (signal?.aborted === true) throw signal.reason;
    signal?.addEventListener('abort', leave, { once: true });
    try {
      while (this.#revision === since) await Promise.race([this.#changed.promise, aborted.promise]);
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#effectAbort?.abort();
    this.#secretValues.clear();
    this.#ended.resolve({ kind: 'left' });
    await this.#effectDone;
  }

  async #awaitServed({ served }: SetupWorld): Promise<void> {
    const end = await served;
    this.#ended.resolve(end);
    this.#setState({ ...this.#state, step: { at: 'over', end: { kind: 'served' } }, effect: null });
  }

  #setState(state: SetupState): void {
    const before = this.#state;
    if (state === before) return;
    this.#state = state;
    if (!inUse.has(state.step.at)) this.#forget(state.draft.pasted);
    this.#page = pageOf(state);
    this.#revision++;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
    if (state.effect !== before.effect) this.#startEffect();
    this.#endWith(state.step);
  }

  /** Forgets pasted values that the draft does not use any more. */
  #forget(pasted: readonly string[]): void {
    for (const name of this.#secretValues.keys())
      if (!pasted.includes(name)) this.#secretValues.delete(name);
  }

  #startEffect(): void {
    this.#effectAbort?.abort();
    this.#effectAbort = null;
    const { effect } = this.#state;
    if (effect === null) return;
    const abort = new AbortController();
    this.#effectAbort = abort;
    this.#effectDone = this.#runEffect(effect, abort.signal);
  }

  async #runEffect(effect: Effect, signal: AbortSignal): Promise<void> {
    try {
      const found = await this.#world.act(effect, this.#secretValues, signal);
      if (!signal.aborted) this.#setState(next(this.#state, { kind: 'found', found }));
    } catch (error) {
      if (signal.aborted) return;
      const what = error instanceof Error ? error.message : String(error);
      const message = `Something went wrong in svc itself: ${what}`;
      this.#ended.resolve({ kind: 'failed', message });
    }
  }

  #endWith(step: Step): void {
    if (step.at !== 'over') return;
    const { kind } = step.end;
    if (kind === 'left' || kind === 'written') this.#ended.resolve({ kind });
  }
}
