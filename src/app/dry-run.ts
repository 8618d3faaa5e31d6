/**
 * Tries a brain: asks it as in a turn, with a context in which it changes nothing. svc delivers and
 * stores nothing, and does not run tools that reach out. The model calls are real, so they count as
 * spend and the brain's budget holds.
 */
import type { Brain, TurnContext } from '../brains/brain.ts';
import type { BrainConfig, Secrets } from '../config/config.ts';
import { rankModels } from '../config/rank.ts';
import type { TurnRow } from '../domain/conversation.ts';
import type { Decision } from '../domain/decision.ts';
import { failure, type Failure } from '../domain/failure.ts';
import {
  createIdSource,
  type ChannelKey,
  type ConversationId,
  type ModelName,
} from '../domain/ids.ts';
import type { Note } from '../domain/note.ts';
import type { Outcome } from '../domain/outcome.ts';
import { strictest, type Sensitivity } from '../domain/sensitivity.ts';
import type { ToolUse } from '../domain/tool-use.ts';
import type { TraceStep } from '../domain/trace.ts';
import { createBudgetGuard, type BudgetGuardDeps } from '../pipeline/budget-guard.ts';
import { later } from '../lib/clock.ts';
import type { Model } from '../brains/models/model.ts';
import { createBrain, createModel, createDryRunContext, type BrainDeps } from './service.ts';
import { MemorySpend } from '../ledger/memory/spend.ts';

/** The result of one question. Times are milliseconds since 1970. */
export type DryRunResult = {
  readonly decision: Decision;
  readonly steps: readonly TraceStep[];
  /** One for each model of the brain, in the configured order. */
  readonly answers: readonly ModelAnswer[];
  readonly uses: readonly (ToolUse & { readonly told: string })[];
  /** Turns that did not fit in the prompt. A conversation continues without them. */
  readonly leftOut: readonly TurnRow[];
  readonly askedAt: number;
  readonly decidedAt: number;
  readonly ms: number;
};

/** The result of one model. `ms` is the sum over all calls to it. */
export type ModelAnswer = { readonly model: ModelName } & (
  | { readonly kind: 'answer'; readonly text: string; readonly ms: number }
  | { readonly kind: 'failed'; readonly failure: Failure; readonly ms: number }
  /** The privacy filter removes this model before any call. */
  | { readonly kind: 'dropped'; readonly reason: string }
  | { readonly kind: 'not_asked'; readonly reason: string }
);

export type DryRunSettings = {
  /** The channel that decides which of an agent's grants hold; null: a grant names none. */
  readonly channel: string | null;
  /** Text for an agent's prompt; null: none. */
  readonly skills: string | null;
  /**
   * Where calls are charged and the brain's budget is kept. Null: there is no ledger, and spend is
   * remembered as long as the dry run lives.
   */
  readonly spend: Omit<BudgetGuardDeps, 'now'> | null;
};

/** How long the first question to a private brain waits to learn whether its model is local. */
const probeMs = 2_000;

const conversation = 'console' as ConversationId;
const sender = { id: 'console', name: null };

/** Asks one question at a time. An agent's notes are kept for as long as this object lives. */
export class DryRun {
  readonly #config: BrainConfig;
  readonly #deps: BrainDeps;
  readonly #channel: ChannelKey;
  readonly #spend: BudgetGuardDeps;
  readonly #brain: Brain;
  readonly #ids = createIdSource(Date.now, (bytes) => void crypto.getRandomValues(bytes));
  /** The first probe of local models, whose results the models remember. It never rejects. */
  readonly #probes: Promise<unknown>;
  readonly #notes: Note[] = [];
  /** The last outcome of each model in this question, in the configured order. */
  readonly #outcomes: (Outcome | null)[];
  readonly #models: readonly Model[];

  constructor(
    config: BrainConfig,
    secrets: Secrets,
    deps: BrainDeps,
    { channel, skills, spend }: DryRunSettings,
  ) {
    const models = config.models.map((model) => createModel(model, secrets, deps));
    const trusted = models.filter(({ locality }) => locality === 'local');
    const probed = config.sensitivity === 'public' ? [] : trusted;
    this.#config = config;
    this.#deps = deps;
    this.#spend = { ...(spend ?? createOwnSpend()), now: deps.now };
    this.#channel = (channel ?? 'console') as ChannelKey;
    this.#probes = Promise.all(
      probed.map((model) => model.check('private', later(deps.steady(), probeMs))),
    );
    this.#models = models;
    this.#outcomes = models.map(() => null);
    const recording = models.map((model, index) => recordingModel(model, index, this.#outcomes));
    this.#brain = createBrain(config, secrets, deps, recording, skills);
  }

  /**
   * @param turns the conversation so far, oldest first, as much of it as a turn sees
   * @param label sensitivity of the text, which the brain cannot weaken
   * @param show receives the whole reply so far while it is written; left out: nobody watches
   */
  async ask(
    text: string,
    turns: readonly TurnRow[],
    signal: AbortSignal,
    label: Sensitivity = 'public',
    show?: TurnContext['show'],
  ): Promise<DryRunResult> {
    await this.#probes;
    this.#outcomes.fill(null);
    const { now, steady } = this.#deps;
    const sensitivity = strictest(this.#config.sensitivity, label);
    const askedAt = now();
    const since = steady();
    const id = this.#ids.message();
    const channel = this.#channel;
    const address = { channel, target: '' };
    const message = { id, channel, conversation, sender, text, media: null, address };
    const deadlineAt = later(since, this.#brain.deadlineMs);
    const budgetGuard = createBudgetGuard(this.#spend, { brain: this.#config, sender: null });
    const turnContext = createDryRunContext(signal, deadlineAt, budgetGuard, this.#notes, show);
    const decision = await this.#brain.think(
      { message: { ...message, acceptedAt: askedAt, sensitivity }, text, history: turns },
      turnContext,
    );
    const { steps, toolUses: uses, leftOut } = turnContext;
    const times = { askedAt, decidedAt: now(), ms: steady() - since };
    return { decision, steps, answers: this.#answers(steps, sensitivity), uses, leftOut, ...times };
  }

  #answers(steps: readonly TraceStep[], sensitivity: Sensitivity): readonly ModelAnswer[] {
    const { models, policy } = this.#config;
    const ranked = rankModels(policy.order, models);
    const stepsByModel = Map.groupBy(
      steps.filter((step) => step.kind === 'model'),
      ({ rank }) => ranked[rank],
    );
    const answered = steps.some((step) => step.kind === 'model' && step.result === 'answer');
    return this.#models.map(({ name: model }, index) => {
      const own = stepsByModel.get(index);
      const last = own?.at(-1);
      if (own === undefined || last === undefined) {
        return { model, ...this.#unasked(index, answered, sensitivity) };
      }
      const ms = own.reduce((sum, step) => sum + step.ms, 0);
      const outcome = this.#outcomes[index];
      if (last.result === 'answer' && outcome?.kind === 'answer') {
        return { model, kind: 'answer', text: outcome.text, ms };
      }
      const isSameFailure = outcome?.kind === 'failed' && outcome.failure.kind === last.result;
      const kind = last.result === 'answer' ? 'cancelled' : last.result;
      return {
        model,
        kind: 'failed',
        failure: isSameFailure ? outcome.failure : failure(kind),
        ms,
      };
    });
  }

  #unasked(
    index: number,
    answered: boolean,
    sensitivity: Sensitivity,
  ): { kind: 'dropped' | 'not_asked'; reason: string } {
    const { agent, models } = this.#config;
    if (sensitivity === 'private' && models[index]!.locality === 'cloud') {
      const what = this.#config.sensitivity === 'private' ? 'the brain' : 'what is asked';
      return { kind: 'dropped', reason: `${what} is private, and this model is declared cloud` };
    }
    const listed =
      agent === null ? 'one that is listed before it answered' : 'a better one answered';
    const why = answered ? listed : 'the turn was over before';
    return { kind: 'not_asked', reason: why };
  }
}

/** A spend book for trials in this process alone, in memory. */
export function createOwnSpend(): Omit<BudgetGuardDeps, 'now'> {
  const events = { modelSpent() {}, budgetReached() {}, budgetRefused() {} };
  return { book: new MemorySpend(), events };
}

/** The same model; it also stores each of its outcomes in `outcomes`. */
function recordingModel(model: Model, index: number, outcomes: (Outcome | null)[]): Model {
  const { name, provider, modelId, locality, mayForward } = model;
  return {
    name,
    provider,
    modelId,
    locality,
    mayForward,
    sees: (sensitivity, deadlineAt) => model.sees(sensitivity, deadlineAt),
    check: (sensitivity, deadlineAt) => model.check(sensitivity, deadlineAt),
    async ask(request, stop) {
      const outcome = await model.ask(request, stop);
      outcomes[index] = outcome;
      return outcome;
    },
  };
}
