/**
 * A tool is a named ability that an agent's model may ask for.
 *
 * What it promises: `check` and `run` do not throw; what it gives the model is text of a bounded
 * length, cut with a mark; it stays within its cage whatever the model wrote, and the cage comes
 * from the operator's configuration alone; it ends soon after its signal aborts.
 * What it may not do: hand over a secret, let the model choose headers, hosts or rights, keep
 * anything between two calls.
 * Who calls it: the dispatcher (governance.ts) and nobody else, many calls at the same time.
 */
import type { ChannelType, ToolName } from '../../config/config.ts';
import type { AskAnswer, WantedCall, Yes } from '../../domain/approval.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type { Ability, BegunCall, CallEnding, LoggedCall, ToolUse } from '../../domain/tool-use.ts';
import { beginning } from '../../domain/reply.ts';

export interface Tool {
  readonly name: ToolName;
  /** By which a model knows it, where that is another name. */
  readonly wireName?: string;
  /** For the model: what it does and when to use it, in a sentence or two. */
  readonly description: string;
  /** The arguments as announced to the model. Format: JSON Schema, draft 2020-12. */
  readonly parameters: ToolParameters;
  /**
   * `none`: may run again after a crash. `outside`: changes something elsewhere, so it is written
   * down before it runs and never repeated silently.
   */
  readonly effect: 'none' | 'outside';
  /** It asks or tells something beyond this machine's own files: not run in a rehearsal. */
  readonly reachesOut: boolean;
  /** The cage in a few words, for a person who asks which tools there are; null: it needs none. */
  readonly cage: string | null;
  /** Whether it can be used now; left out: always. What is not is not announced, and not run. */
  available?(): boolean;
  /** What the model gave as arguments: trusted ones, or what is wrong with them, for the model. */
  check(args: Readonly<Record<string, unknown>>): CheckedCall;
}

export type ToolParameters = {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, DescribedParameter>>;
  readonly required: readonly string[];
};

/** Any keywords of JSON Schema beside the description. */
type DescribedParameter = { readonly description: string; readonly [keyword: string]: unknown };

/** `run` is the call with these arguments; it is asked for once at most. */
export type CheckedCall =
  | { readonly kind: 'ready'; run(surroundings: ToolSurroundings): Promise<ToolResult> }
  | { readonly kind: 'invalid'; readonly text: string };

/** What one call may use of the turn that it belongs to. */
export type ToolSurroundings = {
  readonly signal: AbortSignal;
  /** A tool's own limits hold as well. */
  readonly deadlineAt: SteadyTime;
  /** Private: a network tool reaches loopback and private addresses only. */
  readonly sensitivity: Sensitivity;
  /** The call's own key, never used by another call: sent as `Idempotency-Key` where one fits. */
  readonly key: string;
  /** Keeps a note with the end of this turn. @returns what to tell the model */
  note(text: string): string;
};

/**
 * `done` ran. `refused`: the cage said no, `rule` says which of its rules (a stable code).
 * `failed`: it ran and did not come to its end. `text` is what the model is told.
 */
export type ToolResult =
  | { readonly kind: 'done'; readonly text: string; readonly cut: boolean }
  | { readonly kind: 'refused'; readonly text: string; readonly rule: string }
  | { readonly kind: 'failed'; readonly text: string };

/**
 * The tools of one agent behind their grants: the one way by which a call runs. What is not listed
 * or not granted does not run, whatever the model wrote and wherever it read it.
 */
export interface Toolbox {
  /** What the model is told of on that channel: denied and ungranted tools are not. */
  announcedOn(channel: ChannelType): readonly AnnouncedTool[];
  /** Every listed tool with its grant on that channel, for a person. */
  abilitiesOn(channel: ChannelType): readonly Ability[];
  /** One call, through every check. It does not throw. */
  run(call: AskedCall, surroundings: CallSurroundings): Promise<Ran>;
}

/** `name` is the one by which the model calls it. */
export type AnnouncedTool = Pick<Tool, 'description' | 'parameters'> & { readonly name: string };

/** As the model wrote it. */
export type AskedCall = { readonly name: string; readonly arguments: unknown };

export type CallSurroundings = ToolSurroundings & {
  readonly channel: ChannelType;
  /** Nothing may reach out: a tool that would is recorded and not run. */
  readonly dryRun: boolean;
  /** The same call was run so often in this turn that it gives nothing new; absent: no. */
  readonly repeated?: boolean;
  /** Absent: nobody has said yes to any call. */
  readonly approved?: Yes;
  /** Has the call wait for a person's yes from the end of this turn on. */
  ask(call: WantedCall): Promise<AskAnswer>;
  logCall(call: BegunCall): Promise<LoggedCall>;
  logCallEnd(key: string, ending: CallEnding): void;
};

/** `text` is what the model is told, `use` what the audit keeps. */
export type Ran = { readonly text: string; readonly use: ToolUse };

type Arguments = Readonly<Record<string, unknown>>;

/** A tool's one parameter: a text that must be there. */
export function oneText(name: string, description: string): ToolParameters {
  return {
    type: 'object',
    properties: { [name]: { type: 'string', description } },
    required: [name],
  };
}

/** @returns the text under that name; null where there is none, or something else */
export function textIn(args: Arguments, name: string): string | null {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  return typeof value === 'string' ? value : null;
}

/**
 * @param charactersMax UTF-16 code units; a pair of surrogates is never parted
 * @returns the text, or its beginning with a mark that says so
 */
export function cutText(text: string, charactersMax: number): { text: string; cut: boolean } {
  if (text.length <= charactersMax) return { text, cut: false };
  const kept = beginning(text, charactersMax);
  return {
    text: `${kept}\n[cut: ${kept.length} of ${text.length} characters]`,
    cut: true,
  };
}
