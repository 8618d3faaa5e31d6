/** Asks the models of one turn, all at once or one after the other, until the policy decides. */
import type { Failure } from '../domain/failure.ts';
import { later, type SteadyTime } from '../lib/clock.ts';
import type { Deadline } from '../lib/deadlines.ts';
import type { Policy, Verdict } from './policies/policy.ts';
import type { TurnContext } from './brain.ts';
import { ModelCall, type ModelCallDeps, type Candidate, type RequestFor } from './model-call.ts';

/**
 * When an answer has come, the better-ranked models have this much more time. If the person sees
 * one of them write, its time begins again with each new text.
 */
const graceMs = 30_000;

export type DispatchDeps = ModelCallDeps & {
  readonly dispatch: 'fanout' | 'sequential';
  readonly policy: Policy;
  /** Milliseconds to wait before retry number `attempt` (from 0); null: do not retry. */
  readonly retryDelayMs: (failure: Failure, attempt: number) => number | null;
  /**
   * For `sequential`: a model with others after it is given up after this part of the time that
   * was left at its start. Absent: it may use all of the time.
   */
  readonly partOfTime?: number;
  /** The turn context gets the growing reply if it is clear which model's answer is the reply. */
  readonly showsText?: true;
};

/** `calls`: the models asked, best rank first; `verdict.slot` is an index into `calls`. */
export type Dispatched = {
  readonly verdict: Exclude<Verdict, { kind: 'wait' }>;
  readonly calls: readonly ModelCall[];
};

/** One call to make. `dueAt`: not before then; null: at once. */
type PlannedCall = { readonly call: ModelCall; readonly dueAt: SteadyTime | null };

/**
 * Asks the models of one turn until the policy has decided.
 *
 * - `fanout` asks all models at once. `sequential` asks one after the other, in listed order, and
 *   stops at the first answer.
 * - Failover comes first, retries come last. Only when every model has failed, models with a
 *   passing failure are asked again, each after its own pause.
 * - When an answer comes that could be the reply, all pauses end. Better-ranked models then have
 *   30 s more. The time is longer while the person sees the best of them write.
 * - At the turn's deadline, or when the turn is stopped, the policy decides with the answers that
 *   have come.
 *
 * @param members in listed order
 * @returns a promise that rejects only on a bug
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
  readonly #resolve: (dispatched: Dispatched) => void;
  readonly #reject: (error: unknown) => void;
  readonly #calls: readonly ModelCall[];
  /** The models asked so far, best rank first. */
  readonly #slots: ModelCall[] = [];
  /** In a sequential round: the calls that come next. */
  #queue: PlannedCall[] = [];
  #deadline: Deadline | null = null;
  #grace: Deadline | null = null;
  /** The time of the last shown text; null: no text was shown. */
  #shownAt: SteadyTime | null = null;
  /** At this time the current model is given up, and the next one is asked. */
  #giveUpTimer: Deadline | null = null;
  #over = false;

  constructor(
    members: readonly Candidate[],
    requestFor: RequestFor,
    turnContext: TurnContext,
    deps: DispatchDeps,
    resolve: (dispatched: Dispatched) => void,
    reject: (error: unknown) => void,
  ) {
    this.#turnContext = turnContext;
    this.#deps = deps;
    this.#resolve = resolve;
    this.#reject = reject;
    const onText = this.#showsText ? this.#onText : undefined;
    this.#calls = members.map((one) => {
      return new ModelCall(one, requestFor, turnContext.conversation, deps, this.#onEnded, onText);
    });
  }

  /** With a consensus it is not clear which answer is the reply before all answers have come. */
  get #showsText(): boolean {
    const { showsText, policy } = this.#deps;
    return showsText === true && this.#turnContext.show !== undefined && policy.kind === 'priority';
  }

  /** Shows the text of the best model without a failure: another one wins only if it stalls. */
  readonly #onText = (call: ModelCall, whole: string): void => {
    if (this.#over) return;
    const leader = this.#slots.find(({ outcome }) => outcome?.kind !== 'failed');
    if (leader !== call) return;
    this.#shownAt = this.#deps.steady();
    this.#turnContext.show?.(whole);
  };

  start(): void {
    const { stop, deadlineAt } = this.#turnContext;
    if (stop.stopped) return this.#end('cancelled');
    stop.listen(this.#onStop);
    this.#deadline = this.#deps.deadlines.at(deadlineAt, () => this.#end('deadline'));
    this.#round(this.#calls.map((call) => ({ call, dueAt: null })));
  }

  #round(planned: PlannedCall[]): void {
    if (this.#deps.dispatch === 'sequential') {
      this.#queue = planned;
      return this.#next();
    }
    for (const { call, dueAt } of planned) this.#ask(call, dueAt);
  }

  #next(): void {
    const next = this.#queue.shift();
    if (next !== undefined) this.#ask(next.call, next.dueAt);
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
    this.#giveUpTimer = this.#deps.deadlines.after(leftMs * partOfTime, () => {
      if (call.outcome === null) call.giveUp('timeout');
      this.#onEnded(call);
    });
  }

  readonly #onEnded = (call: ModelCall): void => {
    if (this.#over) return;
    this.#giveUpTimer?.cancel();
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

  /** An answer has come: retries end, and the models still at work have the grace period. */
  #holdFallback(): void {
    let ended = false;
    for (const call of this.#slots) ended = call.endPause() || ended;
    if (ended) return this.#decide();
    this.#grace ??= this.#deps.deadlines.after(graceMs, this.#onGraceEnd);
  }

  readonly #onGraceEnd = (): void => {
    const leftMs = this.#shownAt === null ? 0 : graceMs - (this.#deps.steady() - this.#shownAt);
    if (leftMs <= 0) this.#end('outranked');
    else this.#grace = this.#deps.deadlines.after(leftMs, this.#onGraceEnd);
  };

  /** @returns whether a round of retries began */
  #retry(): boolean {
    const planned: PlannedCall[] = [];
    for (const call of this.#calls) {
      if (call.outcome?.kind === 'answer') return false;
      const dueAt = this.#retryAt(call);
      if (dueAt !== null && dueAt < this.#turnContext.deadlineAt) planned.push({ call, dueAt });
    }
    if (planned.length === 0) return false;
    for (const { call } of planned) call.retries++;
    this.#round(planned);
    return true;
  }

  #retryAt({ outcome, retries, candidate, endedAt }: ModelCall): SteadyTime | null {
    if (outcome?.kind !== 'failed' || endedAt === null || retries >= candidate.retriesMax)
      return null;
    const delayMs = this.#deps.retryDelayMs(outcome.failure, retries);
    return delayMs === null ? null : later(endedAt, delayMs);
  }

  readonly #onStop = (): void => this.#end('cancelled');

  /** Gives up the models without an answer, and lets the policy decide with the others. */
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
    this.#giveUpTimer?.cancel();
    this.#turnContext.stop.unlisten(this.#onStop);
    this.#giveUp(why);
  }

  #giveUp(why: 'outranked' | 'cancelled' | 'deadline'): void {
    for (const call of this.#slots) if (call.outcome === null) call.giveUp(why);
  }
}
