/**
 * A brain that may use tools before it answers, within bounds: so many model calls, so many tool
 * calls in each, one deadline over all. What the model writes gains no rights: every call goes
 * through the toolbox, and only plain text of a last answer reaches the person. Where the model
 * fails, the next one by rank goes on from there.
 */
import type { ChannelType } from '../../config/config.ts';
import type { HistoryBounds } from '../../domain/conversation.ts';
import type { Decision } from '../../domain/decision.ts';
import { isCloudTag } from '../../domain/model-words.ts';
import type { Note } from '../../domain/note.ts';
import { strictest, type Sensitivity } from '../../domain/sensitivity.ts';
import type { Budget } from '../../domain/spend.ts';
import type { Ability } from '../../domain/tool-use.ts';
import type { AgentFacts, Brain, TurnContext, Turn } from '../brain.ts';
import type { Candidate } from '../model-call.ts';
import { noneKept, shield, type Shielded } from '../privacy-filter.ts';
import { sighted } from '../turn-lines.ts';
import type { AgentOptions } from './agent-options.ts';
import { AgentTurn } from './agent-turn.ts';
import { NotesUntilCut } from './prompt.ts';
import type { LearnedLimits } from './models.ts';
import { transcriptCharactersMax } from './tool-transcript.ts';

export { askingOf } from './call-approvals.ts';
export type { AgentOptions } from './agent-options.ts';

/** So that one that hangs leaves the next ones time to answer. */
const partOfTime = 2 / 3;

export function createAgent(options: AgentOptions): Brain {
  return new Agent(options);
}

class Agent implements Brain {
  readonly name: string;
  readonly sensitivity: Sensitivity;
  readonly budget: Budget | null;
  readonly deadlineMs: number;
  readonly historyBounds: HistoryBounds;
  readonly agent: AgentFacts;
  readonly #options: AgentOptions;
  readonly #learned: LearnedLimits = {
    textOnly: new Set(),
    refusedTools: new Map(),
    findingsCharactersMax: transcriptCharactersMax,
  };

  readonly #notesUntilCut = new NotesUntilCut();

  constructor(options: AgentOptions) {
    const { name, budget, deadlineMs, notes, asking, toolbox, sensitivity } = options;
    this.name = name;
    this.sensitivity = sensitivity;
    this.budget = budget;
    this.deadlineMs = deadlineMs;
    this.historyBounds = options.historyBounds;
    this.#options = { partOfTime, ...options, dispatch: 'sequential' };
    this.agent = {
      asking,
      notes: notes?.scope ?? null,
      abilitiesOn: (channel: ChannelType): readonly Ability[] => toolbox.abilitiesOn(channel),
    };
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
    const { notes, members } = this.#options;
    const earlier = await turnContext.earlierCalls();
    const labels = earlier.map((call) => call.sensitivity);
    const sensitivity = strictest(this.sensitivity, turn.message.sensitivity, ...labels);
    if (sensitivity === 'private') turnContext.becomePrivate();
    const { kept: asked, dropped } = this.#shielded(sensitivity, members);
    if (dropped.length > 0 || asked.length === 0) {
      const names = dropped.map(({ model }) => model.name);
      turnContext.addStep({ kind: 'shield', dropped: names, kept: asked.length });
    }
    if (asked.length === 0) return noneKept(this.sensitivity);
    const ranked = asked.toSorted((a, b) => a.rank - b.rank);
    const sight = await sighted(turn, ranked, 'sequential', sensitivity, turnContext);
    if ('kind' in sight) return sight;
    const kept = notes === null ? [] : await turnContext.notes(notes.scope);
    const before = {
      notes: this.#shown(turn, kept),
      notesKept: kept.length,
      earlier,
      sensitivity,
      seers: sight.seers,
    };
    const agentTurn = new AgentTurn(
      this.#options,
      sight.members,
      this.#learned,
      turn,
      turnContext,
      before,
    );
    return agentTurn.answer();
  }

  /** Notes of a whole brain are shown as they are: others add to them, and may be forgotten. */
  #shown({ message, windowAt }: Turn, kept: readonly Note[]): readonly Note[] {
    const { notes } = this.#options;
    if (notes?.scope.kind !== 'conversation' || windowAt === undefined) return kept;
    const { channel, conversation } = message;
    const key = JSON.stringify([channel, conversation]);
    return this.#notesUntilCut.shown(key, windowAt, kept, notes.notesMax);
  }

  /** Notes of the whole brain are what others said to it: they are for models here alone. */
  #shielded(sensitivity: Sensitivity, members: readonly Candidate[]): Shielded<Candidate> {
    if (this.agent.notes?.kind !== 'brain') return shield(sensitivity, members);
    const { kept, dropped } = shield('private', members);
    const isHere = ({ model }: Candidate): boolean =>
      !(model.mayForward && isCloudTag(model.modelId));
    return {
      kept: kept.filter(isHere),
      dropped: [...dropped, ...kept.filter((one) => !isHere(one))],
    };
  }
}
