/** Which models one turn of an agent asks, in what order, and which are told of tools in words. */
import type { ModelName } from '../../domain/ids.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import type { TurnContext } from '../brain.ts';
import type { Candidate, ModelCall } from '../model-call.ts';
import { shield } from '../privacy-filter.ts';

/** After so many calls that its provider refused, a model is told of tools in words. */
const malformedMax = 2;

/** The tools that a model is not told of, since its provider refused them. */
export type RefusedTools = (asked: Pick<ModelCall, 'model' | 'view'>) => readonly string[];

/** Whether a model is told of tools in words, and calls them so. */
export type InText = (asked: Pick<ModelCall, 'model' | 'view'>) => boolean;

/** What turns have found out about models. */
export type LearnedOfModels = {
  /** Models that have no tool calls of their own. */
  readonly textOnly: Set<ModelName>;
  /** Tools that a model's provider does not take as they are described. */
  readonly refusedTools: Map<ModelName, readonly string[]>;
};

/** What one turn finds out about the agent's models, kept for the turns that follow. */
export type LearnedLimits = LearnedOfModels & {
  /** How much of what tools gave back the models can read. */
  findingsCharactersMax: number;
};

export class AgentModels {
  /** In the order in which they are asked. */
  #candidates: readonly Candidate[];
  readonly #learned: LearnedOfModels;
  /** How often a provider refused what its model wrote as a call. */
  readonly #malformed = new Map<ModelName, number>();

  /**
   * @param candidates best rank first
   * @param learned is kept over all turns
   */
  constructor(candidates: readonly Candidate[], learned: LearnedOfModels) {
    this.#candidates = candidates;
    this.#learned = learned;
  }

  /** The one that is asked first. */
  get first(): ModelName {
    const [first] = this.#candidates;
    if (first === undefined) throw new Error('an agent without a model thinks');
    return first.model.name;
  }

  /** What has been found may be private by now, and then goes to local models alone. */
  allowed(sensitivity: Sensitivity, turnContext: TurnContext): readonly Candidate[] {
    const { kept, dropped } = shield(sensitivity, this.#candidates);
    if (dropped.length > 0) {
      const names = dropped.map(({ model }) => model.name);
      turnContext.addStep({ kind: 'shield', dropped: names, kept: kept.length });
      this.#candidates = kept;
    }
    return kept;
  }

  /** For one question: which models are told of tools in words, as far as is known now. */
  inText(): InText {
    const refused = [...this.#malformed].filter(([, times]) => times >= malformedMax);
    const known = new Set([...this.#learned.textOnly, ...refused.map(([model]) => model)]);
    return ({ model, view }) => {
      // Other turns that begin meanwhile need not find it out once more.
      if (!view.nativeTools) this.#learned.textOnly.add(model);
      return !view.nativeTools || known.has(model);
    };
  }

  /** Other turns that begin meanwhile need not find it out once more. */
  readonly refused: RefusedTools = ({ model, view }) => {
    const { refusedTools } = this.#learned;
    const known = refusedTools.get(model) ?? [];
    const all = [...new Set([...known, ...view.refusedTools])];
    if (all.length > known.length) refusedTools.set(model, all);
    return all;
  };

  /**
   * A model that has failed is asked in later steps only where all others fail, too.
   * @returns whether a provider refused what its model wrote as a call
   */
  learn(calls: readonly ModelCall[], inText: InText): boolean {
    const failed = new Set<Candidate>();
    let isMalformed = false;
    for (const call of calls) {
      const { model, outcome, candidate } = call;
      if (outcome?.kind !== 'failed') continue;
      failed.add(candidate);
      if (outcome.failure.kind !== 'tool_call_malformed' || inText(call)) continue;
      isMalformed = true;
      this.#malformed.set(model, (this.#malformed.get(model) ?? 0) + 1);
    }
    const well = this.#candidates.filter((candidate) => !failed.has(candidate));
    const later = this.#candidates.filter((candidate) => failed.has(candidate));
    this.#candidates = [...well, ...later];
    return isMalformed;
  }
}
