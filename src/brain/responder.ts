import type { Decision } from '../domain/decision.ts';
import { linesOf } from './turn-lines.ts';
import { apologyOf } from './apologies.ts';
import type { Brain, Desk, Turn } from './brain.ts';
import type { Candidate } from './model-call.ts';
import { dispatch } from './dispatch.ts';
import type { DispatchKit, Dispatched } from './dispatch.ts';
import { shield } from './shield.ts';
import type { Shielded } from './shield.ts';

export type ResponderOptions = DispatchKit & {
  readonly name: string;
  readonly sensitivity: 'public' | 'private';
  readonly deadlineMs: number;
  /** In listed order. */
  readonly members: readonly Candidate[];
};

/** A brain that asks its models once and lets its policy pick the reply. */
export function createResponder(options: ResponderOptions): Brain {
  return new Responder(options);
}

class Responder implements Brain {
  readonly name: string;
  readonly agent = null;
  readonly deadlineMs: number;
  readonly #options: ResponderOptions;
  readonly #shielded: Shielded<Candidate>;

  constructor(options: ResponderOptions) {
    this.name = options.name;
    this.deadlineMs = options.deadlineMs;
    this.#options = options;
    this.#shielded = shield(options.sensitivity, options.members);
  }

  async think(turn: Turn, desk: Desk): Promise<Decision> {
    try {
      return await this.#answer(turn, desk);
    } catch (error) {
      this.#options.onFault(error);
      return { kind: 'apology', apology: 'fault', why: 'something went wrong in svc itself' };
    }
  }

  async #answer(turn: Turn, desk: Desk): Promise<Decision> {
    const { sensitivity, steady, policy } = this.#options;
    const { kept, dropped } = this.#shielded;
    const turnAt = steady();
    if (dropped.length > 0 || kept.length === 0) {
      const names = dropped.map(({ model }) => model.name);
      desk.addStep({ kind: 'shield', dropped: names, kept: kept.length });
    }
    if (kept.length === 0) {
      const why = 'the brain is private and has no local model';
      return { kind: 'apology', apology: 'no_answer', why };
    }
    const { deadlineAt } = desk;
    const lines = linesOf(turn);
    const keptFrom = lines.length - 1;
    const request = { sensitivity, system: null, lines, keptFrom, tools: [], deadlineAt };
    const judged = await dispatch(kept, request, desk, this.#options);
    for (const call of judged.calls) desk.addStep(call.step(turnAt));
    const { verdict, calls } = judged;
    const winner = verdict.kind === 'reply' ? calls[verdict.slot]!.model : null;
    const { why, votes } = verdict;
    desk.addStep({
      kind: 'policy',
      policy: policy.kind,
      verdict: verdict.kind,
      winner,
      votes,
      why,
    });
    return decisionOf(judged);
  }
}

function decisionOf({ verdict, calls }: Dispatched): Decision {
  const { why } = verdict;
  if (verdict.kind === 'none') {
    const apology = verdict.reason === 'no_consensus' ? verdict.reason : apologyOf(calls);
    return { kind: 'apology', apology, why };
  }
  const { model, outcome } = calls[verdict.slot]!;
  if (outcome?.kind !== 'answer') throw new Error('a policy chose a model without an answer');
  return { kind: 'reply', text: outcome.text, model, why };
}
