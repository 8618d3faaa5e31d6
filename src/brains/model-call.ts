import { failure, type FailureKind } from '../domain/failure.ts';
import type { ModelName } from '../domain/ids.ts';
import type { Outcome, Try } from '../domain/outcome.ts';
import type { TraceStep } from '../domain/trace.ts';
import type { Clock, SteadyTime } from '../lib/clock.ts';
import type { Deadline, Deadlines } from '../lib/deadlines.ts';
import { Stopper } from '../lib/stop.ts';
import { picturesOn, type Model, type ModelRequest } from './models/model.ts';
import type { Slot } from './policies/policy.ts';
import { narrower, viewOf, type View } from './privacy-filter.ts';
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

/** A model and its place in a brain. `rank` 0 is the best; `retriesMax` counts no first try. */
export type Candidate = {
  readonly model: Model;
  readonly rank: number;
  readonly retriesMax: number;
};

/** What a model is asked where it is shown so much. */
export type RequestFor = (view: View, model: ModelName) => ModelRequest;

/** What a call needs of its surroundings. */
export type ModelCallDeps = Clock & {
  readonly deadlines: Deadlines;
  /** Is told of a bug that was contained. */
  readonly onFault: (error: unknown) => void;
};

type Failed = Extract<Outcome, { kind: 'failed' }>;

/**
 * One model's part in one turn, with its retries.
 *
 *     new ──ask──▶ asked ──outcome──▶ ended ──ask, dueAt──▶ paused ──due──▶ asked …
 *                    └────giveUp────▶ ended ◀──────giveUp─────┘
 *
 * While it is asked or paused its outcome is null. What a model says after it was given up is not
 * heard. Where a failure may be due to something that the model need not be shown, it is asked
 * again without that, at once.
 */
export class ModelCall implements Slot {
  readonly candidate: Candidate;
  readonly model: ModelName;
  outcome: Outcome | null = null;
  /** What it was shown when it was last asked. */
  view: View;
  /** How it failed before it was asked without the unanswered messages; null: it was not so. */
  refusal: FailureKind | null = null;
  retries = 0;
  /** Null: it has not ended yet. */
  endedAt: SteadyTime | null = null;
  readonly #deps: ModelCallDeps;
  readonly #requestFor: RequestFor;
  readonly #conversation: string | undefined;
  readonly #ended: (call: ModelCall) => void;
  readonly #shows: ((call: ModelCall, whole: string) => void) | undefined;
  #startedAt: SteadyTime | null = null;
  /** When the model was last asked: by the time of day, and by the steady clock. */
  #askedAt = 0;
  #askedSince: SteadyTime | null = null;
  #tries: readonly Try[] = [];
  #isUncaused = false;
  #stopper: Stopper | null = null;
  #pause: Deadline | null = null;
  #lastFailure: Failed | null = null;
  #callCosts: CallCosts | null = null;

  /**
   * @param conversation as the desk tells it
   * @param ended is called once after each `ask`, unless it is given up before
   * @param shows is called with the text so far while the model writes; absent: it answers in one
   */
  constructor(
    candidate: Candidate,
    requestFor: RequestFor,
    conversation: string | undefined,
    deps: ModelCallDeps,
    ended: (call: ModelCall) => void,
    shows?: (call: ModelCall, whole: string) => void,
  ) {
    this.candidate = candidate;
    this.model = candidate.model.name;
    this.view = viewOf(candidate.model);
    this.#requestFor = requestFor;
    this.#conversation = conversation;
    this.#deps = deps;
    this.#ended = ended;
    this.#shows = shows;
  }

  /** @param dueAt the call is paused until then; null: the model is asked now */
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
    const asking = this.#requestFor(this.view, this.model);
    this.#callCosts ??= new CallCosts(asking.budgetGuard);
    const stopper = new Stopper();
    const whose = this.#conversation === undefined ? {} : { conversation: this.#conversation };
    const request = {
      ...asking,
      budgetGuard: this.#callCosts,
      ...whose,
      ...this.#listener(stopper),
    };
    this.#stopper = stopper;
    this.#askedAt = this.#deps.now();
    this.#askedSince = this.#deps.steady();
    this.#startedAt ??= this.#askedSince;
    let asked: Promise<Outcome>;
    try {
      asked = this.candidate.model.ask(request, stopper);
    } catch (error) {
      asked = Promise.reject(error);
    }
    asked.then(
      (outcome) => this.#hear(stopper, request, outcome),
      (error: unknown) => {
        this.#deps.onFault(error);
        this.#hear(stopper, request, this.#failed('fault'));
      },
    );
  }

  /** What it writes once it was given up is not shown. */
  #listener(stopper: Stopper): Pick<ModelRequest, 'onText'> {
    const shows = this.#shows;
    if (shows === undefined) return {};
    return { onText: (whole) => (this.#stopper === stopper ? shows(this, whole) : undefined) };
  }

  /** Ends the call from outside. A paused call ends with the failure that it had. */
  giveUp(kind: 'outranked' | 'cancelled' | 'deadline' | 'timeout'): void {
    const stopper = this.#stopper;
    this.#stopper = null;
    if (stopper !== null) {
      this.#take(this.#failed(kind));
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

  /** @param turnAt when the turn began */
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

  #hear(stopper: Stopper, request: ModelRequest, outcome: Outcome): void {
    if (this.#stopper !== stopper) return;
    this.#stopper = null;
    this.#callCosts?.heard();
    const view = outcome.kind === 'failed' ? this.#lessThan(request, outcome) : null;
    if (view !== null) {
      this.#tries = [...this.#tries, ...outcome.tries];
      if (outcome.kind === 'failed' && !view.unanswered) this.refusal = outcome.failure.kind;
      this.view = view;
      return this.#ask();
    }
    this.#take(outcome);
    this.#ended(this);
  }

  /** With what less the model is asked again; null: that would be no other request. */
  #lessThan(request: ModelRequest, { failure: why }: Failed): View | null {
    // Where it failed without the unanswered messages as well, these are not the cause.
    if (!this.view.unanswered) this.#isUncaused = true;
    const views = narrower(this.view, why).filter((view) => view.unanswered || !this.#isUncaused);
    const less = views.find((view) => {
      const next = this.#requestFor(view, this.model);
      return (view.private || next.sensitivity === 'public') && !isSame(next, request);
    });
    return less ?? null;
  }

  #take(outcome: Outcome): void {
    this.outcome = outcome;
    this.endedAt = this.#deps.steady();
    this.#tries = this.#tries.length === 0 ? outcome.tries : [...this.#tries, ...outcome.tries];
  }

  #failed(kind: 'outranked' | 'cancelled' | 'deadline' | 'timeout' | 'fault'): Failed {
    const steady = this.#deps.steady();
    const ms = steady - (this.#askedSince ?? steady);
    const used = this.#callCosts?.unheard ?? null;
    const tokens = used === null ? {} : { tokens: used };
    const tries = [{ startedAt: this.#askedAt, ms, failed: kind, ...tokens }];
    return { kind: 'failed', failure: failure(kind), tries };
  }
}

function isSame(one: ModelRequest, other: ModelRequest): boolean {
  const { lines, system } = other;
  const isSaid = one.lines.every((line, at) => {
    const said = lines[at];
    if (said === undefined || line.text !== said.text) return false;
    return picturesOn(line).length === picturesOn(said).length;
  });
  const isAlike = one.system === system && one.tools.length === other.tools.length;
  return isSaid && isAlike && one.lines.length === lines.length;
}

const none: Used = { input: 0, output: 0, estimated: false };

/**
 * What one model's part in a turn is charged with. A call that is given up has no outcome that
 * would tell what it used: the tab knows what was reserved for it.
 */
class CallCosts implements BudgetGuard {
  readonly #budgetGuard: BudgetGuard;
  #price: Price | null = null;
  /** Of calls that are over, and whose outcome was not heard yet. */
  #settled = none;
  /** Of the call under way. */
  #open = none;

  constructor(budgetGuard: BudgetGuard) {
    this.#budgetGuard = budgetGuard;
  }

  reserve(payable: Payable, most: Tokens): Reserved | Promise<Reserved | Unpaid> {
    this.#price = payable.price;
    const output = payable.costs ? most.output : 0;
    const open = { input: most.input, output, estimated: true };
    const paying = this.#budgetGuard.reserve(payable, most);
    if (!(paying instanceof Promise)) return this.#noted(paying, open);
    return paying.then((paid) => (paid.kind === 'reserved' ? this.#noted(paid, open) : paid));
  }

  /** An outcome came: its tries tell what was used. */
  heard(): void {
    this.#settled = none;
  }

  /** What was used, or may have been, since the last outcome that was heard; null: nothing. */
  get unheard(): Used | null {
    const all = usedByBoth(this.#settled, this.#open);
    return all.input + all.output === 0 ? null : all;
  }

  /** What those tries cost, a decimal number; null: the model has no price. */
  costOf(tries: readonly Try[]): string | null {
    if (this.#price === null) return null;
    return costOf(
      tries.reduce((all, { tokens }) => usedByBoth(all, tokens ?? none), none),
      this.#price,
    );
  }

  #noted(paid: Reserved, open: Used): Reserved {
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
