/**
 * A brain that may use tools before it answers, within bounds: so many model calls, so many tool
 * calls in each, one deadline over all. What the model writes gains no rights: every call goes
 * through the toolbox, and only plain text of a last answer reaches the person.
 *
 *     asking ──answer──▶ over
 *       │ ▲
 *     calls └─results── running      the last asking is made without tools
 */
import type { ChannelType } from '../../config/config.ts';
import type { Decision } from '../../domain/decision.ts';
import type { NoteScope } from '../../domain/note.ts';
import type { Ability } from '../../domain/tool-use.ts';
import type { Toolbox } from '../../tool/tool.ts';
import type { AgentFacts, Brain, Desk, Turn } from '../brain.ts';
import type { Member } from '../call.ts';
import type { DispatchKit } from '../dispatch.ts';
import { shield } from '../shield.ts';
import { AgentTurn } from './agent-turn.ts';

export type AgentOptions = DispatchKit & {
  readonly name: string;
  readonly sensitivity: 'public' | 'private';
  readonly deadlineMs: number;
  /** The best-ranked one that the shield keeps is used. */
  readonly members: readonly Member[];
  readonly toolbox: Toolbox;
  readonly iterationsMax: number;
  readonly operatorPrompt: string | null;
  /** Ready text for the prompt; null: there are none. */
  readonly skills: string | null;
  readonly notes: {
    readonly scope: NoteScope;
    readonly notesMax: number;
    readonly noteRunesMax: number;
    readonly budgetRunes: number;
  } | null;
  /** Makes the mark of one turn's data: not to be guessed. */
  readonly mark: () => string;
};

export function createAgent(options: AgentOptions): Brain {
  return new Agent(options);
}

/** How the model is asked to call: found out once, and kept. */
export type Protocol = { now: 'native' | 'text' };

class Agent implements Brain {
  readonly name: string;
  readonly deadlineMs: number;
  readonly agent: AgentFacts;
  readonly #options: AgentOptions;
  readonly #protocol: Protocol = { now: 'native' };

  constructor(options: AgentOptions) {
    const { name, deadlineMs, notes, toolbox } = options;
    this.name = name;
    this.deadlineMs = deadlineMs;
    this.#options = options;
    this.agent = {
      notes: notes?.scope ?? null,
      abilitiesOn: (channel: ChannelType): readonly Ability[] => toolbox.abilitiesOn(channel),
    };
  }

  async think(turn: Turn, desk: Desk): Promise<Decision> {
    try {
      const { sensitivity, members } = this.#options;
      const { kept, dropped } = shield(sensitivity, members);
      const [member] = kept.toSorted((a, b) => a.rank - b.rank);
      if (dropped.length > 0 || member === undefined) {
        const names = dropped.map(({ model }) => model.name);
        desk.step({ kind: 'shield', dropped: names, kept: kept.length });
      }
      if (member === undefined) {
        const why = 'the brain is private and has no local model';
        return { kind: 'apology', apology: 'no_answer', why };
      }
      return await new AgentTurn(this.#options, member, this.#protocol, turn, desk).answer();
    } catch (error) {
      this.#options.onFault(error);
      return { kind: 'apology', apology: 'fault', why: 'something went wrong in svc itself' };
    }
  }
}
