/**
 * A brain that may use tools before it answers. It has limits on model calls and tool calls, and
 * one deadline. The text of a model gains no rights: every call goes through the toolbox, and only
 * the plain text of the last answer reaches the person. If a model fails, the next one by rank
 * continues the turn.
 */
import type { HistoryBounds } from '../../domain/conversation.ts';
import type { Decision } from '../../domain/decision.ts';
import { isCloudTag } from '../../domain/model-words.ts';
import type { Note } from '../../domain/note.ts';
import { strictest, type Sensitivity } from '../../domain/sensitivity.ts';
import type { Budget } from '../../domain/spend.ts';
import type { Ability } from '../../domain/tool-use.ts';
import type { AgentFacts, Brain, TurnContext, Turn } from '../brain.ts';
import type { Candidate } from '../model-call.ts';
import { noLocalModel, filterMembers, type Filtered } from '../privacy-filter.ts';
import { selectByVision } from '../turn-lines.ts';
import type { AgentOptions } from './agent-options.ts';
import { AgentTurn } from './agent-turn.ts';
import { NotesUntilCut } from './prompt.ts';
import type { LearnedLimits } from './models.ts';
import { transcriptCharactersMax } from './tool-transcript.ts';

/** A model uses at most this part of the time left, so that the next one has time to answer. */
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
    resultCharactersMax: transcriptCharactersMax,
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
      abilitiesOn: (channel: string): readonly Ability[] => toolbox.abilitiesOn(channel),
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
    const { kept: allowed, dropped } = this.#filtered(sensitivity, members);
    if (dropped.length > 0 || allowed.length === 0) {
      const names = dropped.map(({ model }) => model.name);
      turnContext.addStep({ kind: 'shield', dropped: names, kept: allowed.length });
    }
    if (allowed.length === 0) return noLocalModel(this.sensitivity);
    const ranked = allowed.toSorted((a, b) => a.rank - b.rank);
    const selection = await selectByVision(turn, ranked, 'sequential', sensitivity, turnContext);
    if ('kind' in selection) return selection;
    const hasNotes = notes !== null && turn.given === undefined;
    const keptNotes = hasNotes ? await turnContext.notes(notes.scope) : [];
    const state = {
      notes: this.#shownNotes(turn, keptNotes),
      notesKept: keptNotes.length,
      earlier,
      sensitivity,
      visionModels: selection.visionModels,
    };
    const agentTurn = new AgentTurn(
      this.#options,
      selection.members,
      this.#learned,
      turn,
      turnContext,
      state,
    );
    return agentTurn.answer();
  }

  /**
   * Notes of a whole brain are shown as they are: other conversations add and delete notes, too.
   */
  #shownNotes({ message, windowAt }: Turn, kept: readonly Note[]): readonly Note[] {
    const { notes } = this.#options;
    if (notes?.scope.kind !== 'conversation' || windowAt === undefined) return kept;
    const { channel, conversation } = message;
    const key = JSON.stringify([channel, conversation]);
    return this.#notesUntilCut.shown(key, windowAt, kept, notes.notesMax);
  }

  /** Notes of a whole brain come from other people: only models on this machine may read them. */
  #filtered(sensitivity: Sensitivity, members: readonly Candidate[]): Filtered<Candidate> {
    if (this.agent.notes?.kind !== 'brain') return filterMembers(sensitivity, members);
    const { kept, dropped } = filterMembers('private', members);
    const isHere = ({ model }: Candidate): boolean =>
      !(model.mayForward && isCloudTag(model.modelId));
    return {
      kept: kept.filter(isHere),
      dropped: [...dropped, ...kept.filter((one) => !isHere(one))],
    };
  }
}
