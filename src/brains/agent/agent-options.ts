/** What an agent is made of: its models, tools, prompts and limits. */
import type { HistoryBounds } from '../../domain/conversation.ts';
import type { NoteScope } from '../../domain/note.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import type { Budget } from '../../domain/spend.ts';
import type { ApprovalRules, Turn } from '../brain.ts';
import type { DispatchDeps } from '../dispatch.ts';
import type { Candidate } from '../model-call.ts';
import type { Toolbox } from '../tools/tool.ts';

/** The value of `dispatch` has no effect: an agent asks its models one after the other. */
export type AgentOptions = DispatchDeps & {
  readonly name: string;
  readonly sensitivity: Sensitivity;
  readonly budget: Budget | null;
  readonly deadlineMs: number;
  readonly historyBounds: HistoryBounds;
  /** The agent asks the best-ranked model that passes the privacy filter, then the next. */
  readonly members: readonly Candidate[];
  readonly toolbox: Toolbox;
  /** The most model calls in one turn. */
  readonly stepsMax: number;
  /** The brain's system prompt, at the beginning; null: none. */
  readonly systemPrompt: string | null;
  /** The agent's system prompt, after the text about its tools. */
  readonly operatorPrompt: string | null;
  /** The text about its skills for the prompt; null: it has none. */
  readonly skills: string | null;
  readonly notes: {
    readonly scope: NoteScope;
    readonly notesMax: number;
    readonly budgetRunes: number;
  } | null;
  /** Null: none of its tools needs an approval. */
  readonly asking: ApprovalRules | null;
  /**
   * The random mark around data in prompts. It has letters, digits and `-`, and is the same for a
   * whole session. svc removes it from texts of people, tools and models.
   */
  readonly mark: (turn: Turn) => string;
};
