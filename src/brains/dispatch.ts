import type { Failure } from '../domain/failure.ts';
import { later, type SteadyTime } from '../lib/clock.ts';
import type { Deadline } from '../lib/deadlines.ts';
import type { Policy, Verdict } from './policies/policy.ts';
import type { TurnContext } from './brain.ts';
import { ModelCall } from './model-call.ts';
import type { ModelCallDeps, Candidate, RequestFor } from './model-call.ts';

/**
 * How long better-ranked models have once an answer is in hand; the one whose text somebody sees
 * grow, since it grew last.
 */
const graceMs = 30_000;

export type DispatchDeps = ModelCallDeps & {
  readonly dispatch: 'fanout' | 'sequential';
  readonly policy: Policy;
  /** Milliseconds to wait before retry number `attempt` (from 0); null: do not retry. */
  readonly retryDelayMs: (failure: Failure, attempt: number) => number | null;
  /**
   * sequential: a model that others come after is given up once it has used this part of the time
   * that was left when its turn came; left out: it may use all.
   */
  readonly partOfTime?: number;
  /** The desk is shown the reply while it grows, where it is clear whose it will be. */
  readonly showsText?: true;
};

/** `calls` are the models that were asked, best rank first; `verdict.slot` counts in them. */
export type Dispatched = {
  readonly verdict: Exclude<Verdict, { kind: 'wait' }>;
  readonly calls: readonly ModelCall[];
};

/** `dueAt`: the call is not made before then; null: at once. */
type Asking = { readonly call: ModelCall; readonly dueAt: SteadyTime | null };

/**
 * Asks the models of one turn until the policy has decided.
 *
 * fanout asks all of them at once; sequential asks one after the other, as listed, and stops at the
 * first that answers. Failing over comes first and retrying last: only when every model has failed
 * are those with a passing failure asked again, each after its own pause. When an answer that would
 * do comes meanwhile, the pauses end. Once such an answer is in hand, better-ranked models have 30
 * s more, or as long as somebody sees the text of the best of them grow. When the turn's time is
 * over, or it is stopped, what is in hand decides.
 *
 * @param members in listed order
 * @returns rejects only on a bug
 */
export function dispatch(
  members: readonly Candidate[],
  requestFor: RequestFor,
  turnContext: TurnContext,
  deps: DispatchDeps,
): Promise<Dispatched> {
  return new Promise((resolve, reject) => {
    new Dispatch(members, requestFor, turnContext, deps, resolve, reject).start();
  });
}

class Dispatch {
  readonly #turnContext: TurnContext;
  readonly #deps: DispatchDeps;
  readonly #resolve: (judged: Dispatched) => void;
  readonly #reject: (error: unknown) => void;
  readonly #calls: readonly ModelCall[];
  /** The models that take part so far, best rank first. */
  readonly #slots: ModelCall[] = [];
  /** In a sequential round: the models that come next. */
  #queue: Asking[] = [];
  #deadline: Deadline | null = null;
  #grace: Deadline | null = null;
  /** When the text that is shown last grew; null: none is. */
  #grewAt: SteadyTime | null = null;
  /** When the model that is asked has to make way for the next. */
  #makesWay: Deadline | null = null;
  #over = false;

  constructor(
    members: readonly Candidate[],
    requestFor: RequestFor,
    turnContext: TurnContext,
    deps: DispatchDeps,
    resolve: (judged: Dispatched) => void,
    reject: (error: unknown) => void,
  ) {
    this.#turnContext = turnContext;
    this.#deps = deps;
    this.#resolve = resolve;
    this.#reject = reject;
    const shows = this.#showsText ? this.#shows : undefined;
    this.#calls = members.map((one) => {
      return new ModelCall(one, requestFor, turnContext.conversation, deps, this.#came, shows);
    });
  }

  /** With a consensus nobody knows whose answer it will be, if any, before all have come. */
  get #showsText(): boolean {
    const { showsText, policy } = this.#deps;
    return showsText === true && this.#turnContext.show !== undefined && policy.kind === 'priority';
  }

  /** The best of those that have not failed is shown: another wins only where it stands still. */
  readonly #shows = (call: ModelCall, whole: string): void => {
    if (this.#over) return;
    const leader = this.#slots.find(({ outcome }) => outcome?.kind !== 'failed');
    if (leader !== call) return;
    this.#grewAt = this.#deps.steady();
    this.#turnContext.show?.(whole);
  };

  start(): void {
    const { stop, deadlineAt } = this.#turnContext;
    if (stop.stopped) return this.#end('cancelled');
    stop.listen(this.#stopped);
    this.#deadline = this.#deps.deadlines.at(deadlineAt, () => this.#end('deadline'));
    this.#round(this.#calls.map((call) => ({ call, dueAt: null })));
  }

  #round(turns: Asking[]): void {
    if (this.#deps.dispatch === 'sequential') {
      this.#queue = turns;
      return this.#next();
    }
    for (const { call, dueAt } of turns) this.#ask(call, dueAt);
  }

  #next(): void {
    const turn = this.#queue.shift();
    if (turn !== undefined) this.#ask(turn.call, turn.dueAt);
  }

  #ask(call: ModelCall, dueAt: SteadyTime | null): void {
    if (!this.#slots.includes(call)) {
      this.#slots.push(call);
      if (this.#slots.length > 1) this.#slots.sort((a, b) => a.candidate.rank - b.candidate.rank);
    }
    call.askAt(dueAt);
    if (this.#queue.length > 0) this.#leaveTime(call);
  }

  #leaveTime(call: ModelCall): void {
    const { partOfTime } = this.#deps;
    if (partOfTime === undefined) return;
    const leftMs = this.#turnContext.deadlineAt - this.#deps.steady();
    this.#makesWay = this.#deps.deadlines.after(leftMs * partOfTime, () => {
      if (call.outcome === null) call.giveUp('timeout');
      this.#came(call);
    });
  }

  readonly #came = (call: ModelCall): void => {
    if (this.#over) return;
    this.#makesWay?.cancel();
    try {
      const failed = call.outcome?.kind === 'failed' ? call.outcome.failure.kind : null;
      if (failed === 'deadline') this.#end('deadline');
      else if (failed !== null && this.#queue.length > 0) this.#next();
      else this.#decide();
    } catch (error) {
      this.#fail(error);
    }
  };

  #decide(): void {
    const verdict = this.#deps.policy.judge(this.#slots);
    if (verdict.kind === 'wait') {
      if (verdict.fallback !== null) this.#holdFallback();
    } else if (verdict.kind === 'reply' || !this.#retry()) {
      this.#settle(verdict);
    }
  }

  /** An answer is in hand: no model is retried any more, and those still asked have the grace. */
  #holdFallback(): void {
    let ended = false;
    for (const call of this.#slots) ended = call.endPause() || ended;
    if (ended) return this.#decide();
    this.#grace ??= this.#deps.deadlines.after(graceMs, this.#graceOver);
  }

  readonly #graceOver = (): void => {
    const leftMs = this.#grewAt === null ? 0 : graceMs - (this.#deps.steady() - this.#grewAt);
    if (leftMs <= 0) this.#end('outranked');
    else this.#grace = this.#deps.deadlines.after(leftMs, this.#graceOver);
  };

  /** @returns whether a round of retries began */
  #retry(): boolean {
    const turns: Asking[] = [];
    for (const call of this.#calls) {
      if (call.outcome?.kind === 'answer') return false;
      const dueAt = this.#retryAt(call);
      if (dueAt !== null && dueAt < this.#turnContext.deadlineAt) turns.push({ call, dueAt });
    }
    if (turns.length === 0) return false;
    for (const { call } of turns) call.retries++;
    this.#round(turns);
    return true;
  }

  #retryAt({ outcome, retries, candidate, endedAt }: ModelCall): SteadyTime | null {
    if (outcome?.kind !== 'failed' || endedAt === null || retries >= candidate.retriesMax)
      return null;
    const delayMs = this.#deps.retryDelayMs(outcome.failure, retries);
    return delayMs === null ? null : later(endedAt, delayMs);
  }

  readonly #stopped = (): void => this.#end('cancelled');

  /** What is in hand decides; the models that have not answered are given up. */
  #end(why: 'outranked' | 'cancelled' | 'deadline'): void {
    if (this.#over) return;
    try {
      this.#giveUp(why);
      const verdict = this.#deps.policy.judge(this.#slots);
      if (verdict.kind === 'wait') throw new Error('a policy waits though every outcome is in');
      this.#settle(verdict);
    } catch (error) {
      this.#fail(error);
    }
  }

  #settle(verdict: Dispatched['verdict']): void {
    this.#close(verdict.kind === 'reply' ? 'outranked' : 'cancelled');
    this.#resolve({ verdict, calls: this.#slots });
  }

  #fail(error: unknown): void {
    this.#close('cancelled');
    this.#reject(error);
  }

  #close(why: 'outranked' | 'cancelled'): void {
    this.#over = true;
    this.#deadline?.cancel();
    this.#grace?.cancel();
    this.#makesWay?.cancel();
    this.#turnContext.stop.unlisten(this.#stopped);
    this.#giveUp(why);
  }

  #giveUp(why: 'outranked' | 'cancelled' | 'deadline'): void {
    for (const call of this.#slots) if (call.outcome === null) call.giveUp(why);
  }
}
