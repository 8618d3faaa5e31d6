import type { HistoryBounds, QuotedBlock, TurnRow } from '../domain/conversation.ts';
import type { Decision } from '../domain/decision.ts';
import { strictest, type Sensitivity } from '../domain/sensitivity.ts';
import type { Budget } from '../domain/spend.ts';
import { sighted, type Seers } from './vision.ts';
import { linesOfTurn } from './turn-lines.ts';
import { apologyOf } from './apologies.ts';
import type { Brain, TurnContext, EarlierPictures, Turn } from './brain.ts';
import type { Candidate, RequestFor } from './model-call.ts';
import { dispatch } from './dispatch.ts';
import type { DispatchDeps, Dispatched } from './dispatch.ts';
import { noneKept, quoteFor, shield, turnsIn } from './privacy-filter.ts';
import { tellLeftOut } from './left-out.ts';
import { reportUnsent } from './unsent-answers.ts';

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
