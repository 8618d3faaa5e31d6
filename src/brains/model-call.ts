/** One model's part in one turn, with its retries and its costs. */
import { failure, type FailureKind } from '../domain/failure.ts';
import type { ModelName } from '../domain/ids.ts';
import type { Outcome, Try } from '../domain/outcome.ts';
import type { TraceStep } from '../domain/trace.ts';
import type { Clock, SteadyTime } from '../lib/clock.ts';
import type { Deadline, Deadlines } from '../lib/deadlines.ts';
import { Stopper } from '../lib/stop.ts';
import { picturesOn, type Model, type ModelRequest } from './models/model.ts';
import type { Slot } from './policies/policy.ts';
import { narrowerViews, viewOf, type View } from './privacy-filter.ts';
import { costOf } from '../domain/money.ts';
import {
  usedByBoth,
  type Payable,
  type Price,
  type BudgetGuard,
  type Reserved,
  type Tokens,
  type Unpaid,
  type Used,
} from '../domain/spend.ts';

/** A model and its place in a brain. Rank 0 is the best. `retriesMax`: without the first try. */
export type Candidate = {
  readonly model: Model;
  readonly rank: number;
  readonly retriesMax: number;
};

/** Makes the request for one model with one view. */
export type RequestFor = (view: View, model: ModelName) => ModelRequest;

export type ModelCallDeps = Clock & {
  readonly deadlines: Deadlines;
  /** Reports a bug that did not end the process. */
  readonly onFault: (error: unknown) => void;
};

type Failed = Extract<Outcome, { kind: 'failed' }>;

/**
 * One model's part in one turn, with its retries.
 *
 *     new ──ask──▶ asked ──outcome──▶ ended ──ask, dueAt──▶ paused ──due──▶ asked …
 *                    └────giveUp────▶ ended ◀──────giveUp─────┘
 *
 * In the states `asked` and `paused` the outcome is null. After `giveUp`, late answers are ignored.
 * If something that the model need not see may have caused a failure, the model is asked again
 * without it, at once.
 */
export class ModelCall implements Slot {
  readonly candidate: Candidate;
  readonly model: ModelName;
  outcome: Outcome | null = null;
  /** The view of the last request. */
  view: View;
  /** The failure after which the unanswered messages were left out; null: they were not. */
  refusal: FailureKind | null = null;
  retries = 0;
  /** Null before the first end. */
  endedAt: SteadyTime | null = null;
  readonly #deps: ModelCallDeps;
  readonly #requestFor: RequestFor;
  readonly #conversation: string | undefined;
  readonly #onEnded: (call: ModelCall) => void;
  readonly #onText: ((call: ModelCall, whole: string) => void) | undefined;
  #startedAt: SteadyTime | null = null;
  /** The start of the last request, by the time of day and by the steady clock. */
  #askedAt = 0;
  #askedSince: SteadyTime | null = null;
  #tries: readonly Try[] = [];
  #isOtherCause = false;
  #stopper: Stopper | null = null;
  #pause: Deadline | null = null;
  #lastFailure: Failed | null = null;
  #callCosts: CallCosts | null = null;

  /**
   * @param conversation see `TurnContext`
   * @param onEnded called once after each `askAt`, unless the call is given up before
   * @param onText called with the text so far while the model writes; absent: no streaming
   */
  constructor(
    candidate: Candidate,
    requestFor: RequestFor,
    conversation: string | undefined,
    deps: ModelCallDeps,
    onEnded: (call: ModelCall) => void,
    onText?: (call: ModelCall, whole: string) => void,
  ) {
    this.candidate = candidate;
    this.model = candidate.model.name;
    this.view = viewOf(candidate.model);
    this.#requestFor = requestFor;
    this.#conversation = conversation;
    this.#deps = deps;
    this.#onEnded = onEnded;
    this.#onText = onText;
  }

  /** @param dueAt the end of the pause before the request; null: no pause */
  askAt(dueAt: SteadyTime | null): void {
    if (this.outcome?.kind === 'failed') this.#lastFailure = this.outcome;
    this.outcome = null;
    this.view = { ...this.view, unanswered: true };
    if (dueAt === null || dueAt <= this.#deps.steady()) return this.#ask();
    this.#pause = this.#deps.deadlines.at(dueAt, () => {
      this.#pause = null;
      this.#ask();
    });
  }

  #ask(): void {
    const base = this.#requestFor(this.view, this.model);
    this.#callCosts ??= new CallCosts(base.budgetGuard);
    const stopper = new Stopper();
    const conversationField =
      this.#conversation === undefined ? {} : { conversation: this.#conversation };
    const request = {
      ...base,
      budgetGuard: this.#callCosts,
      ...conversationField,
      ...this.#listener(stopper),
    };
    this.#stopper = stopper;
    this.#askedAt = this.#deps.now();
    this.#askedSince = this.#deps.steady();
    this.#startedAt ??= this.#askedSince;
    let answering: Promise<Outcome>;
    try {
      answering = this.candidate.model.ask(request, stopper);
    } catch (error) {
      answering = Promise.reject(error);
    }
    answering.then(
      (outcome) => this.#onOutcome(stopper, request, outcome),
      (error: unknown) => {
        this.#deps.onFault(error);
        this.#onOutcome(stopper, request, this.#failed('fault'));
      },
    );
  }

  /** Shows no text after the call was given up. */
  #listener(stopper: Stopper): Pick<ModelRequest, 'onText'> {
    const onText = this.#onText;
    if (onText === undefined) return {};
    return { onText: (whole) => (this.#stopper === stopper ? onText(this, whole) : undefined) };
  }

  /** Ends the call from outside. A paused call ends with its last failure. */
  giveUp(kind: 'outranked' | 'cancelled' | 'deadline' | 'timeout'): void {
    const stopper = this.#stopper;
    this.#stopper = null;
    if (stopper !== null) {
      this.#end(this.#failed(kind));
      stopper.stop();
    } else {
      this.endPause();
    }
  }

  /** @returns whether there was a pause to end */
  endPause(): boolean {
    if (this.#pause === null) return false;
    this.#pause.cancel();
    this.#pause = null;
    this.outcome = this.#lastFailure;
    return true;
  }

  /** @param turnAt the start of the turn */
  step(turnAt: SteadyTime): TraceStep {
    const { outcome } = this;
    const { refusedTools } = this.view;
    const startedAt = this.#startedAt ?? turnAt;
    const answered = outcome?.kind === 'answer';
    const { said, status = null } = outcome?.kind === 'failed' ? outcome.failure : {};
    const cost = this.#callCosts?.costOf(this.#tries) ?? null;
    return {
      kind: 'model',
      model: this.model,
      rank: this.candidate.rank,
      startMs: startedAt - turnAt,
      ms: (this.endedAt ?? startedAt) - startedAt,
      result: answered ? 'answer' : (outcome?.failure.kind ?? 'cancelled'),
      tries: this.#tries,
      linesDropped: answered ? outcome.linesDropped : 0,
      usage: answered ? outcome.usage : null,
      ...(answered && outcome.isCut && { isCut: true }),
      ...(refusedTools.length > 0 && { withoutTools: refusedTools.join(', ') }),
      ...(status !== null && { status }),
      ...(said !== undefined && { said }),
      ...(cost === null ? {} : { cost }),
      ...(outcome?.reuse !== undefined && { reuse: outcome.reuse }),
    };
  }

  #onOutcome(stopper: Stopper, request: ModelRequest, outcome: Outcome): void {
    if (this.#stopper !== stopper) return;
    this.#stopper = null;
    this.#callCosts?.outcomeReceived();
    const view = outcome.kind === 'failed' ? this.#narrowerView(request, outcome) : null;
    if (view !== null) {
      this.#tries = [...this.#tries, ...outcome.tries];
      if (outcome.kind === 'failed' && !view.unanswered) this.refusal = outcome.failure.kind;
      this.view = view;
      return this.#ask();
    }
    this.#end(outcome);
    this.#onEnded(this);
  }

  /** The smaller view for another request; null: no smaller view changes the request. */
  #narrowerView(request: ModelRequest, { failure: cause }: Failed): View | null {
    // If it also failed without the unanswered messages, they are not the cause.
    if (!this.view.unanswered) this.#isOtherCause = true;
    const views = narrowerViews(this.view, cause).filter(
      (view) => view.unanswered || !this.#isOtherCause,
    );
    const narrower = views.find((view) => {
      const next = this.#requestFor(view, this.model);
      return (view.private || next.sensitivity === 'public') && !isSame(next, request);
    });
    return narrower ?? null;
  }

  #end(outcome: Outcome): void {
    this.outcome = outcome;
    this.endedAt = this.#deps.steady();
    this.#tries = this.#tries.length === 0 ? outcome.tries : [...this.#tries, ...outcome.tries];
  }

  #failed(kind: 'outranked' | 'cancelled' | 'deadline' | 'timeout' | 'fault'): Failed {
    const steady = this.#deps.steady();
    const ms = steady - (this.#askedSince ?? steady);
    const used = this.#callCosts?.unreported ?? null;
    const tokens = used === null ? {} : { tokens: used };
    const tries = [{ startedAt: this.#askedAt, ms, failed: kind, ...tokens }];
    return { kind: 'failed', failure: failure(kind), tries };
  }
}

function isSame(one: ModelRequest, other: ModelRequest): boolean {
  const { lines, system } = other;
  const hasSameLines = one.lines.every((line, at) => {
    const counterpart = lines[at];
    if (counterpart === undefined || line.text !== counterpart.text) return false;
    return picturesOn(line).length === picturesOn(counterpart).length;
  });
  const isAlike = one.system === system && one.tools.length === other.tools.length;
  return hasSameLines && isAlike && one.lines.length === lines.length;
}

const none: Used = { input: 0, output: 0, estimated: false };

/**
 * The token usage of one model in a turn. A call that was given up has no outcome with its usage,
 * so its reserved amount counts.
 */
class CallCosts implements BudgetGuard {
  readonly #budgetGuard: BudgetGuard;
  #price: Price | null = null;
  /** The usage of ended calls without a received outcome. */
  #settled = none;
  /** The reserved amount of the running call. */
  #open = none;

  constructor(budgetGuard: BudgetGuard) {
    this.#budgetGuard = budgetGuard;
  }

  reserve(payable: Payable, most: Tokens): Reserved | Promise<Reserved | Unpaid> {
    this.#price = payable.price;
    const output = payable.costs ? most.output : 0;
    const open = { input: most.input, output, estimated: true };
    const paying = this.#budgetGuard.reserve(payable, most);
    if (!(paying instanceof Promise)) return this.#tracked(paying, open);
    return paying.then((paid) => (paid.kind === 'reserved' ? this.#tracked(paid, open) : paid));
  }

  /** Forgets the settled usage, because the tries of the received outcome have it. */
  outcomeReceived(): void {
    this.#settled = none;
  }

  /** The certain or possible usage since the last received outcome; null: none. */
  get unreported(): Used | null {
    const all = usedByBoth(this.#settled, this.#open);
    return all.input + all.output === 0 ? null : all;
  }

  /** The price of those tries as a decimal number; null: the model has no price. */
  costOf(tries: readonly Try[]): string | null {
    if (this.#price === null) return null;
    return costOf(
      tries.reduce((all, { tokens }) => usedByBoth(all, tokens ?? none), none),
      this.#price,
    );
  }

  #tracked(paid: Reserved, open: Used): Reserved {
    this.#open = open;
    return {
      kind: 'reserved',
      settle: (used) => {
        this.#open = none;
        if (used !== null) this.#settled = usedByBoth(this.#settled, used);
        paid.settle(used);
      },
    };
  }
}
