/** A brain that asks its models once, and its apologies and reports when they fail. */
import type { CompletionOptions } from '../domain/completion.ts';
import type { HistoryBounds, QuotedBlock, TurnRow } from '../domain/conversation.ts';
import type { Decision, ApologyFacts } from '../domain/decision.ts';
import { strictest, type Sensitivity } from '../domain/sensitivity.ts';
import type { Budget } from '../domain/spend.ts';
import { selectByVision, linesOfTurn, keptFromIn, type VisionModels } from './turn-lines.ts';
import type { Brain, TurnContext, EarlierPictures, Turn } from './brain.ts';
import type { Candidate, RequestFor, ModelCall } from './model-call.ts';
import { dispatch, type DispatchDeps, type Dispatched } from './dispatch.ts';
import { noLocalModel, quoteFor, filterMembers, turnsIn, isUnanswered } from './privacy-filter.ts';
import { keptText } from '../domain/kept-text.ts';
import type { UnsentAnswer } from '../domain/story.ts';
import { failure, type Failure, type FailureKind } from '../domain/failure.ts';
import type { Outcome, ToolCall } from '../domain/outcome.ts';
import { withCutNotice } from '../domain/model-words.ts';

export type ResponderOptions = DispatchDeps & {
  readonly name: string;
  readonly sensitivity: Sensitivity;
  readonly budget: Budget | null;
  readonly deadlineMs: number;
  readonly historyBounds: HistoryBounds;
  /** In listed order. */
  readonly members: readonly Candidate[];
  /** The system prompt of each request; null: none. */
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
    const { kept, dropped } = filterMembers(sensitivity, members);
    const turnAt = steady();
    if (dropped.length > 0 || kept.length === 0) {
      const names = dropped.map(({ model }) => model.name);
      turnContext.addStep({ kind: 'shield', dropped: names, kept: kept.length });
    }
    if (kept.length === 0) return noLocalModel(this.sensitivity);
    const selecting = selectByVision(turn, kept, order, sensitivity, turnContext);
    const selection = selecting instanceof Promise ? await selecting : selecting;
    if ('kind' in selection) return selection;
    const requestFor = requestMaker(
      turn,
      sensitivity,
      turnContext,
      selection.visionModels,
      this.#options.systemPrompt,
    );
    const dispatched = await dispatch(selection.members, requestFor, turnContext, this.#options);
    for (const call of dispatched.calls) turnContext.addStep(call.step(turnAt));
    const { verdict, calls } = dispatched;
    const chosen = verdict.kind === 'reply' ? calls[verdict.slot]! : null;
    reportLeftOut(turn, 0, calls, chosen, turnContext);
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
    return decisionOf(dispatched, turn);
  }
}

/**
 * Models with the same view get the same request. No view leaves out a client's tool: a model that
 * cannot call the tools fails, so that the client learns it.
 */
function requestMaker(
  turn: Turn,
  sensitivity: Sensitivity,
  { deadlineAt, budgetGuard }: TurnContext,
  visionModels: VisionModels,
  systemPrompt: string | null,
): RequestFor {
  const { history, given } = turn;
  const prompts = [systemPrompt, given?.system ?? null].filter((prompt) => prompt !== null);
  const system = prompts.length === 0 ? null : prompts.join('\n\n');
  const asked = given === undefined ? { tools: [] } : askedIn(given);
  const requestWith = (
    shown: readonly TurnRow[],
    quoted: QuotedBlock | null,
    pictured: EarlierPictures | null = null,
  ) => {
    const lines = linesOfTurn(turn, shown, pictured, quoted);
    const all = quoted === null ? shown : [...shown, quoted];
    const strict = strictest(sensitivity, ...all.map((one) => one.sensitivity));
    const keptFrom = keptFromIn(turn, lines);
    return { sensitivity: strict, system, lines, keptFrom, ...asked, deadlineAt, budgetGuard };
  };
  const fullQuote = turn.quoted ?? null;
  const fullRequest = requestWith(history, fullQuote);
  return (view, model) => {
    const shown = turnsIn(history, view);
    const quoted = quoteFor(turn, view);
    const pictured = view.pictures ? visionModels.get(model) : undefined;
    if (pictured !== undefined) return requestWith(shown, quoted, pictured);
    return shown === history && quoted === fullQuote ? fullRequest : requestWith(shown, quoted);
  };
}

/** A client's wishes in the form of a request. */
function askedIn({ tools, mayCall, toolChoice, outputTokensMax }: CompletionOptions) {
  return {
    tools,
    mayCall,
    ...(toolChoice !== undefined && { toolChoice }),
    ...(outputTokensMax !== null && { outputTokensMax }),
    isShownForGood: true,
  } as const;
}

const noConsensus = { apology: 'no_consensus' } as const;

function decisionOf({ verdict, calls }: Dispatched, turn: Turn): Decision {
  const { why } = verdict;
  if (verdict.kind === 'none') {
    if (verdict.reason === 'no_consensus') return { kind: 'apology', ...noConsensus, why };
    return cutReply(calls, turn) ?? { kind: 'apology', ...apologyOf(calls), why };
  }
  const { model, outcome } = calls[verdict.slot]!;
  if (outcome?.kind !== 'answer') throw new Error('a policy chose a model without an answer');
  const wanted = wantedCalls(outcome, turn);
  return {
    kind: 'reply',
    ...repliedText(outcome, turn),
    model,
    why,
    ...(wanted.length > 0 && { calls: wanted }),
  };
}

type Answer = Pick<Extract<Outcome, { kind: 'answer' }>, 'text' | 'calls' | 'isCut'>;

/** A client learns from `isCut` that the text is cut. A person reads it below the text. */
export function repliedText(
  { text, isCut }: Pick<Answer, 'text' | 'isCut'>,
  { given }: Pick<Turn, 'given'>,
): { readonly text: string; readonly isCut?: true } {
  if (isCut !== true) return { text };
  return { text: given === undefined ? withCutNotice(text) : text, isCut };
}

/**
 * The empty reply to a client where a limit of the length ended an answer before its first word, as
 * it happens to a model that thinks. Clients know such an answer. null: there was none.
 */
export function cutReply(
  calls: readonly Pick<ModelCall, 'model' | 'outcome'>[],
  { given }: Pick<Turn, 'given'>,
): Decision | null {
  const cut = calls.find(
    ({ outcome }) => outcome?.kind === 'failed' && outcome.failure.isCut === true,
  );
  if (given === undefined || cut === undefined) return null;
  const why = 'a limit of its length ended the answer before its first word';
  return { kind: 'reply', text: '', model: cut.model, why, isCut: true };
}

/**
 * The calls of a client's tools. The ids are new in the client's conversation, because providers
 * refuse an id that stands in it twice.
 */
function wantedCalls({ calls }: Answer, { given, message }: Turn): readonly ToolCall[] {
  if (given === undefined || !given.mayCall || given.tools.length === 0) return [];
  const before = [...given.before, ...given.after];
  const ids = new Set(
    before.flatMap((line) => (line.role === 'calls' ? line.calls.map(({ id }) => id) : [])),
  );
  return calls.map((call, at) => {
    const id = call.id === '' || ids.has(call.id) ? `call_${message.id}_${at}` : call.id;
    ids.add(id);
    return { ...call, id };
  });
}

/** The most answers of a turn that are kept besides its reply. */
const unsentMax = 16;

/**
 * Keeps the answers that were not chosen. A turn with a single answer has none.
 * @param calls best rank first
 * @param chosen the call with the reply; null: none
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
    const { text, calls: wanted } = call.outcome;
    const words = text === '' ? wanted.map(({ name }) => name).join(', ') : text;
    unsent.push({ model: call.model, text: keptText(words) });
    if (unsent.length === unsentMax) break;
  }
  if (unsent.length > 0) turnContext.keepUnsent(unsent);
}

/** Failures that may soon be over, so that it makes sense to send the message again. */
const passing: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'timeout',
  'deadline',
  'rate_limited',
  'overloaded',
  'connect_failed',
  'connect_timeout',
  'cancelled',
]);

/** If at least one model may soon answer again, the apology asks for patience. */
export function apologyOf(calls: readonly Pick<ModelCall, 'outcome'>[]): ApologyFacts {
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

/** The facts of a model call that a report of left-out parts needs. */
type ReportedCall = Pick<ModelCall, 'model' | 'view' | 'refusal'>;

/**
 * Adds trace steps for the parts of the conversation that some models did not see. A quoted message
 * counts as a turn. Call it after the models have answered.
 * @param notes the number of private notes
 * @param chosen the call whose answer is the reply, or is carried out; null: none
 */
export function reportLeftOut(
  { history, quoted }: Pick<Turn, 'history' | 'quoted'>,
  notes: number,
  calls: readonly ReportedCall[],
  chosen: ReportedCall | null,
  turnContext: TurnContext,
): void {
  const shown = quoted === undefined ? history : [...history, quoted];
  const privateTurns = shown.filter(({ sensitivity }) => sensitivity === 'private').length;
  if (privateTurns + notes > 0) {
    const models = calls.filter(({ view }) => !view.private).map(({ model }) => model);
    if (models.length > 0) {
      turnContext.addStep({ kind: 'left_out', why: 'private', models, turns: privateTurns, notes });
    }
    if (chosen?.view.private === true) turnContext.becomePrivate();
  }
  if (chosen !== null && !chosen.view.unanswered) reportUnanswered(history, chosen, turnContext);
}

/**
 * Blames the newest unanswered message, because requests with the older ones were answered. A
 * failure that may be chance counts only at its second time.
 */
function reportUnanswered(
  history: readonly TurnRow[],
  { model, view, refusal }: ReportedCall,
  turnContext: TurnContext,
) {
  const shown = turnsIn(history, { ...view, unanswered: true });
  const unanswered = shown.filter(isUnanswered);
  const newest = unanswered.at(-1);
  if (newest === undefined) return;
  const step = { kind: 'left_out', models: [model], notes: 0 } as const;
  turnContext.addStep({ ...step, why: 'unanswered', turns: unanswered.length });
  const isChance = refusal !== null && failure(refusal).retryable && newest.doubted === undefined;
  if (isChance) return turnContext.markSuspected([newest]);
  turnContext.leaveOut([newest]);
  turnContext.addStep({ ...step, why: 'refused', turns: 1 });
}
