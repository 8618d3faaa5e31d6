/** What an agent is made of: its models, tools, prompts and limits. */
import type { HistoryBounds } from '../../domain/conversation.ts';
import type { NoteScope } from '../../domain/note.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import type { Budget } from '../../domain/spend.ts';
import type { Asking, Turn } from '../brain.ts';
import type { DispatchDeps } from '../dispatch.ts';
import type { Candidate } from '../model-call.ts';
import type { Toolbox } from '../tools/tool.ts';

/** Its models are asked one after the other, whatever `dispatch` says. */
export type AgentOptions = DispatchDeps & {
  readonly name: string;
  readonly sensitivity: Sensitivity;
  readonly budget: Budget | null;
  readonly deadlineMs: number;
  readonly historyBounds: HistoryBounds;
  /** The best-ranked one that the shield keeps is asked; where it fails, the next. */
  readonly members: readonly Candidate[];
  readonly toolbox: Toolbox;
  /** Model calls in one turn, all told. */
  readonly stepsMax: number;
  /** The brain's, which stands first; null: it has none. */
  readonly systemPrompt: string | null;
  /** The agent's, behind the words about its tools. */
  readonly operatorPrompt: string | null;
  /** Ready text for the prompt; null: there are none. */
  readonly skills: string | null;
  readonly notes: {
    readonly scope: NoteScope;
    readonly notesMax: number;
    readonly budgetRunes: number;
  } | null;
  /** Null: none of its tools asks. */
  readonly asking: Asking | null;
  /**
   * The mark of data, of letters, digits and `-`: the same in a session, and not to be guessed. It
   * is taken out of all that people, tools and models write.
   */
  readonly mark: (turn: Turn) => string;
};
