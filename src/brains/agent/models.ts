/** The models of one agent turn: their order, and which of them get tools as text. */
import type { ModelName } from '../../domain/ids.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import type { TurnContext } from '../brain.ts';
import type { Candidate, ModelCall } from '../model-call.ts';
import { filterMembers } from '../privacy-filter.ts';

/** After so many calls that the provider refused as malformed, the model gets tools as text. */
const malformedMax = 2;

/** The tools that a model does not see, because its provider refused them. */
export type RefusedTools = (call: Pick<ModelCall, 'model' | 'view'>) => readonly string[];

/** Whether a model gets tools as text, and calls them in text. */
export type InText = (call: Pick<ModelCall, 'model' | 'view'>) => boolean;

/** Facts about models that turns have learned. */
export type LearnedModelFacts = {
  /** Models without native tool calls. */
  readonly textOnly: Set<ModelName>;
  /** Tools whose descriptions a model's provider refused. */
  readonly refusedTools: Map<ModelName, readonly string[]>;
};

/** The facts about an agent's models that one turn learns for later turns. */
export type LearnedLimits = LearnedModelFacts & {
  /** The length of tool results that the models can read in one request. */
  resultCharactersMax: number;
};

export class AgentModels {
  /** In the order of the requests. */
  #candidates: readonly Candidate[];
  readonly #learned: LearnedModelFacts;
  /** How often a provider refused a call of its model as malformed. */
  readonly #malformed = new Map<ModelName, number>();

  /**
   * @param candidates best rank first
   * @param learned shared by all turns of the agent
   */
  constructor(candidates: readonly Candidate[], learned: LearnedModelFacts) {
    this.#candidates = candidates;
    this.#learned = learned;
  }

  /** The first model in the order. */
  get first(): ModelName {
    const [first] = this.#candidates;
    if (first === undefined) throw new Error('an agent without a model thinks');
    return first.model.name;
  }

  /** The models that may be asked now. The turn may have become private meanwhile. */
  allowed(sensitivity: Sensitivity, turnContext: TurnContext): readonly Candidate[] {
    const { kept, dropped } = filterMembers(sensitivity, this.#candidates);
    if (dropped.length > 0) {
      const names = dropped.map(({ model }) => model.name);
      turnContext.addStep({ kind: 'shield', dropped: names, kept: kept.length });
      this.#candidates = kept;
    }
    return kept;
  }

  /** @returns for one request: which models get tools as text, with the facts of this moment */
  inText(): InText {
    const refused = [...this.#malformed].filter(([, times]) => times >= malformedMax);
    const known = new Set([...this.#learned.textOnly, ...refused.map(([model]) => model)]);
    return ({ model, view }) => {
      // Stored at once, so that parallel turns need not learn it again.
      if (!view.nativeTools) this.#learned.textOnly.add(model);
      return !view.nativeTools || known.has(model);
    };
  }

  /** Stores refused tools at once, so that parallel turns need not learn them again. */
  readonly refused: RefusedTools = ({ model, view }) => {
    const { refusedTools } = this.#learned;
    const known = refusedTools.get(model) ?? [];
    const all = [...new Set([...known, ...view.refusedTools])];
    if (all.length > known.length) refusedTools.set(model, all);
    return all;
  };

  /**
   * Moves the models that failed to the end of the order for the next steps.
   * @returns whether a provider refused a call of its model as malformed
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
    const healthy = this.#candidates.filter((candidate) => !failed.has(candidate));
    const failing = this.#candidates.filter((candidate) => failed.has(candidate));
    this.#candidates = [...healthy, ...failing];
    return isMalformed;
  }
}
