/**
 * A conversation that an API client brings along with its request, and the end of that request. svc
 * adds nothing of its own memory to it, and keeps only the newest message and the reply.
 */
import type { HistoryLine } from './conversation.ts';
import type { Decision } from './decision.ts';
import type { ToolCall, Usage } from './outcome.ts';
import type { Media } from './message.ts';

/** A line with the model's calls, or the result of one call. */
export type ToolLine =
  | {
      readonly role: 'calls';
      readonly text: string;
      readonly calls: readonly ToolCall[];
      /** Fields that only the model's provider knows; absent: none. */
      readonly extra?: object;
    }
  | { readonly role: 'result'; readonly call: ToolCall; readonly text: string };

/** A tool as the model sees it. `parameters`: a JSON Schema of an object. */
export type ToolNotice = {
  readonly name: string;
  readonly description: string;
  readonly parameters: object;
};

/** Which tool the model has to call: one of them, or that one. */
export type ToolChoice = 'required' | { readonly name: string };

/** What a client asks beside its lines. */
export type CompletionOptions = {
  /** The client's system texts. They follow the brain's own; null: none. */
  readonly system: string | null;
  /** The client's own tools. It runs them itself; empty: none. */
  readonly tools: readonly ToolNotice[];
  /** False: the model is shown the tools and calls none. */
  readonly mayCall: boolean;
  /** Absent: the model decides. */
  readonly toolChoice?: ToolChoice;
  /** Only lowers the limit of an answer; null: as configured. In tokens. */
  readonly outputTokensMax: number | null;
};

/** One line as the client sent it. `file` of its media is for the `fetch` of its channel. */
export type GivenLine =
  | { readonly role: 'user'; readonly text: string; readonly media: readonly Media[] }
  | { readonly role: 'assistant'; readonly text: string }
  | ToolLine;

/** A request of a client. */
export type CompletionRequest = CompletionOptions & {
  readonly brain: string;
  /** Oldest first. */
  readonly lines: readonly GivenLine[];
  /** The index of the newest `user` line, which is the message that svc keeps. */
  readonly newest: number;
};

/**
 * The lines around the newest message, with their pictures read. A model without vision sees a
 * notice for each picture (`linesOfTurn`), so no text here has one.
 */
export type GivenConversation = CompletionOptions & {
  /** Oldest first. */
  readonly before: readonly (HistoryLine | ToolLine)[];
  /** The model's calls for the newest message and their results, or what it has answered so far. */
  readonly after: readonly (HistoryLine | ToolLine)[];
};

/**
 * How a request ended. `refused`: the request itself was at fault. `picture`: a picture cannot be
 * read, and `why` says so to a person. `tools`: no model of the brain can call tools.
 */
export type CompletionEnd =
  | {
      readonly kind: 'decided';
      readonly decision: Decision;
      /** Of all calls to models; null: no provider reported any. */
      readonly usage: Usage | null;
    }
  | { readonly kind: 'refused'; readonly fault: 'picture' | 'tools'; readonly why: string };
