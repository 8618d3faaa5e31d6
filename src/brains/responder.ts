import type { HistoryBounds, QuotedBlock, TurnRow } from '../domain/conversation.ts';
import type { Decision, Sorry } from '../domain/decision.ts';
import { strictest, type Sensitivity } from '../domain/sensitivity.ts';
import type { Budget } from '../domain/spend.ts';
import { sighted, linesOfTurn, type Seers } from './turn-lines.ts';
import type { Brain, TurnContext, EarlierPictures, Turn } from './brain.ts';
import type { Candidate, RequestFor, ModelCall } from './model-call.ts';
import { dispatch, type DispatchDeps, type Dispatched } from './dispatch.ts';
import { noneKept, quoteFor, shield, turnsIn, isUnanswered } from './privacy-filter.ts';
import { keptText } from '../domain/kept-text.ts';
import type { UnsentAnswer } from '../domain/story.ts';
import { failure, type Failure, type FailureKind } from '../domain/failure.ts';

export type ResponderOptions = DispatchDeps & {
  readonly name: string;
  readonly sensitivity: Sensitivity;
  readonly budget: Budget | null;
  readonly deadlineMs: number;
  readonly historyBounds: HistoryBounds;
  /** In listed order. */
  readonly members: readonly Candidate[];
  /** What each model is told first; null: nothing. */
  readonly systemPrompt: string | null;
};

/** A brain that asks its models once and lets its policy pick the reply. */
export function createResponder(options: ResponderOptions): Brain {
  return new Responder(options);
}

class Responder implements Brain {
  readonly name: string;
  readonly sensitivity: Sensitivity;
  readonly agent = null;
  readonly budget: Budget | null;
  readonly deadlineMs: number;
  readonly historyBounds: HistoryBounds;
  readonly #options: ResponderOptions;

  constructor(options: ResponderOptions) {
    this.name = options.name;
    this.sensitivity = options.sensitivity;
    this.budget = options.budget;
    this.deadlineMs = options.deadlineMs;
    this.historyBounds = options.historyBounds;
    this.#options = { ...options, showsText: true };
  }

  async think(turn: Turn, turnContext: TurnContext): Promise<Decision> {
    try {
      return await this.#answer(turn, turnContext);
    } catch (error) {
      this.#options.onFault(error);
      return { kind: 'apology', apology: 'fault', why: 'something went wrong in svc itself' };
    }
  }

  async #answer(turn: Turn, turnContext: TurnContext): Promise<Decision> {
    const { steady, policy, members, dispatch: order } = this.#options;
    const sensitivity = strictest(this.sensitivity, turn.message.sensitivity);
    const { kept, dropped } = shield(sensitivity, members);
    const turnAt = steady();
    if (dropped.length > 0 || kept.length === 0) {
      const names = dropped.map(({ model }) => model.name);
      turnContext.addStep({ kind: 'shield', dropped: names, kept: kept.length });
    }
    if (kept.length === 0) return noneKept(this.sensitivity);
    const seen = sighted(turn, kept, order, sensitivity, turnContext);
    const sight = seen instanceof Promise ? await seen : seen;
    if ('kind' in sight) return sight;
    const asking = requests(
      turn,
      sensitivity,
      turnContext,
      sight.seers,
      this.#options.systemPrompt,
    );
    const judged = await dispatch(sight.members, asking, turnContext, this.#options);
    for (const call of judged.calls) turnContext.addStep(call.step(turnAt));
    const { verdict, calls } = judged;
    const chosen = verdict.kind === 'reply' ? calls[verdict.slot]! : null;
    tellLeftOut(turn, 0, calls, chosen, turnContext);
    reportUnsent(calls, chosen, turnContext);
    const { why, votes } = verdict;
    turnContext.addStep({
      kind: 'policy',
      policy: policy.kind,
      verdict: verdict.kind,
      winner: chosen?.model ?? null,
      votes,
      why,
    });
    return decisionOf(judged);
  }
}

/** Models that are shown the same are asked the same. */
function requests(
  turn: Turn,
  sensitivity: Sensitivity,
  { deadlineAt, budgetGuard }: TurnContext,
  seers: Seers,
  system: string | null,
): RequestFor {
  const { history } = turn;
  const make = (
    shown: readonly TurnRow[],
    quoted: QuotedBlock | null,
    pictured: EarlierPictures | null = null,
  ) => {
    const lines = linesOfTurn(turn, shown, pictured, quoted);
    const all = quoted === null ? shown : [...shown, quoted];
    const strict = strictest(sensitivity, ...all.map((one) => one.sensitivity));
    const keptFrom = lines.length - 1;
    return { sensitivity: strict, system, lines, keptFrom, tools: [], deadlineAt, budgetGuard };
  };
  const everything = turn.quoted ?? null;
  const whole = make(history, everything);
  return (view, model) => {
    const shown = turnsIn(history, view);
    const quoted = quoteFor(turn, view);
    const pictured = view.pictures ? seers.get(model) : undefined;
    if (pictured !== undefined) return make(shown, quoted, pictured);
    return shown === history && quoted === everything ? whole : make(shown, quoted);
  };
}

const noConsensus = { apology: 'no_consensus' } as const;

function decisionOf({ verdict, calls }: Dispatched): Decision {
  const { why } = verdict;
  if (verdict.kind === 'none') {
    const sorry = verdict.reason === 'no_consensus' ? noConsensus : apologyOf(calls);
    return { kind: 'apology', ...sorry, why };
  }
  const { model, outcome } = calls[verdict.slot]!;
  if (outcome?.kind !== 'answer') throw new Error('a policy chose a model without an answer');
  return { kind: 'reply', text: outcome.text, model, why };
}

/** At most so many answers of a turn are kept beside its reply. */
const unsentMax = 16;

/**
 * What the models answered that were not chosen. A turn with one answer has none of these.
 * @param calls best rank first
 * @param chosen whose answer is the reply; null: nobody's
 */
function reportUnsent(
  calls: readonly Pick<ModelCall, 'model' | 'outcome'>[],
  chosen: Pick<ModelCall, 'model' | 'outcome'> | null,
  turnContext: Pick<TurnContext, 'keepUnsent'>,
): void {
  if (calls.length === 1 && chosen !== null) return;
  const unsent: UnsentAnswer[] = [];
  for (const call of calls) {
    if (call === chosen || call.outcome?.kind !== 'answer') continue;
    unsent.push({ model: call.model, text: keptText(call.outcome.text) });
    if (unsent.length === unsentMax) break;
  }
  if (unsent.length > 0) turnContext.keepUnsent(unsent);
}

/** Failures that may be over in a little while, so that it is worth asking again. */
const passing: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'timeout',
  'deadline',
  'rate_limited',
  'overloaded',
  'connect_failed',
  'connect_timeout',
  'cancelled',
]);

/** One model that may be there again soon is reason enough to ask for patience. */
export function apologyOf(calls: readonly Pick<ModelCall, 'outcome'>[]): Sorry {
  const failures = calls.flatMap(({ outcome }) =>
    outcome?.kind === 'failed' ? [outcome.failure] : [],
  );
  if (failures.some(({ kind }) => passing.has(kind))) return { apology: 'busy' };
  const isOver = failures.some(({ kind }) => kind === 'over_budget');
  if (isOver) return { apology: 'over_budget', opensAt: soonestOf(failures) };
  const [first] = failures;
  const isTooLong = failures.every(({ kind }) => kind === 'context_overflow');
  if (isTooLong && first !== undefined) return { apology: 'too_long' };
  return { apology: failures.some(({ kind }) => kind === 'fault') ? 'fault' : 'no_answer' };
}

function soonestOf(failures: readonly Failure[]): number | null {
  const soonest = Math.min(...failures.map(({ opensAt }) => opensAt ?? Infinity));
  return soonest === Infinity ? null : soonest;
}

/** What some models were not shown of a conversation, as the trace tells it. */
type Asked = Pick<ModelCall, 'model' | 'view' | 'refusal'>;

/**
 * To be called once the models have been asked.
 * What the message replies to counts as a turn.
 * @param notes how many notes are private
 * @param chosen whose answer is the reply, or is acted on; null: nobody's
 */
export function tellLeftOut(
  { history, quoted }: Pick<Turn, 'history' | 'quoted'>,
  notes: number,
  calls: readonly Asked[],
  chosen: Asked | null,
  turnContext: TurnContext,
): void {
  const shown = quoted === undefined ? history : [...history, quoted];
  const secret = shown.filter(({ sensitivity }) => sensitivity === 'private').length;
  if (secret + notes > 0) {
    const models = calls.filter(({ view }) => !view.private).map(({ model }) => model);
    if (models.length > 0) {
      turnContext.addStep({ kind: 'left_out', why: 'private', models, turns: secret, notes });
    }
    if (chosen?.view.private === true) turnContext.becomePrivate();
  }
  if (chosen !== null && !chosen.view.unanswered) tellUnanswered(history, chosen, turnContext);
}

/**
 * The newest is the one to blame, since with those before it somebody was answered. A failure that
 * may be chance counts only when it comes again.
 */
function tellUnanswered(
  history: readonly TurnRow[],
  { model, view, refusal }: Asked,
  turnContext: TurnContext,
) {
  const shown = turnsIn(history, { ...view, unanswered: true });
  const unanswered = shown.filter(isUnanswered);
  const newest = unanswered.at(-1);
  if (newest === undefined) return;
  const told = { kind: 'left_out', models: [model], notes: 0 } as const;
  turnContext.addStep({ ...told, why: 'unanswered', turns: unanswered.length });
  const isChance = refusal !== null && failure(refusal).retryable && newest.doubted === undefined;
  if (isChance) return turnContext.doubt([newest]);
  turnContext.leaveOut([newest]);
  turnContext.addStep({ ...told, why: 'refused', turns: 1 });
}
