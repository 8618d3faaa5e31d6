/**
 * A tool is a named ability that an agent's model may ask for.
 *
 * It promises:
 * - `check` and `run` do not throw.
 * - Its text for the model has a bounded length, and is cut with a mark.
 * - It stays within its cage whatever the model wrote. Only the operator's configuration sets the
 *   cage.
 * - It ends soon after its signal aborts.
 *
 * It may not reveal a secret, let the model choose headers, hosts or rights, or keep anything
 * between two calls. Only the dispatcher (governance.ts) calls it, with many calls at the same
 * time.
 */
import type { ToolName } from '../../config/config.ts';
import type { AskAnswer, WantedCall, GivenApproval } from '../../domain/approval.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type { Ability, BegunCall, CallEnding, LoggedCall, ToolUse } from '../../domain/tool-use.ts';
import { beginning } from '../../domain/reply.ts';

export interface Tool {
  readonly name: ToolName;
  /** The name that models use, if it differs from `name`. */
  readonly wireName?: string;
  /** For the model: what it does and when to use it, in a sentence or two. */
  readonly description: string;
  /** The arguments as announced to the model. Format: JSON Schema, draft 2020-12. */
  readonly parameters: ToolParameters;
  /**
   * `none`: may run again after a crash. `outside`: changes something elsewhere, so a call is
   * written down before it runs and is never repeated silently.
   */
  readonly effect: 'none' | 'outside';
  /** It contacts something beyond this machine's own files, so a dry run does not run it. */
  readonly reachesOut: boolean;
  /** The cage in a few words, for people who list the tools; null: the tool needs none. */
  readonly cage: string | null;
  /**
   * Whether the tool can be used now; absent: always. An unavailable tool is not announced and not
   * run.
   */
  available?(): boolean;
  /**
   * Checks the model's arguments. @returns the ready call, or a text for the model about what is
   * wrong
   */
  check(args: Readonly<Record<string, unknown>>): CheckedCall;
}

export type ToolParameters = {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, DescribedParameter>>;
  readonly required: readonly string[];
};

/** Any keywords of JSON Schema besides the description. */
type DescribedParameter = { readonly description: string; readonly [keyword: string]: unknown };

/** `run` executes the call with these arguments; it is called at most once. */
export type CheckedCall =
  | { readonly kind: 'ready'; run(surroundings: ToolSurroundings): Promise<ToolResult> }
  | { readonly kind: 'invalid'; readonly text: string };

/** What one call may use of its turn. */
export type ToolSurroundings = {
  readonly signal: AbortSignal;
  /** A tool's own limits apply as well. */
  readonly deadlineAt: SteadyTime;
  /** Private: a network tool reaches loopback and private addresses only. */
  readonly sensitivity: Sensitivity;
  /** The call's own key, never used by another call: sent as `Idempotency-Key` where one fits. */
  readonly key: string;
  /** Keeps a note when this turn ends. @returns the text for the model */
  note(text: string): string;
};

/**
 * `done`: the call ran. `refused`: the cage forbade it; `rule` is the stable code of its rule.
 * `failed`: the call began and did not complete. `text` is for the model.
 */
export type ToolResult =
  | { readonly kind: 'done'; readonly text: string; readonly cut: boolean }
  | { readonly kind: 'refused'; readonly text: string; readonly rule: string }
  | { readonly kind: 'failed'; readonly text: string };

/**
 * The tools of one agent behind their grants: the only way to run a call. A tool that is not listed
 * or not granted does not run, whatever the model wrote and wherever it read it.
 */
export interface Toolbox {
  /** The tools that the model sees on that channel, without denied and ungranted ones. */
  announcedOn(channel: string): readonly AnnouncedTool[];
  /** Every listed tool with its grant on that channel, for a person. */
  abilitiesOn(channel: string): readonly Ability[];
  /** Runs one call, through every check. It does not throw. */
  run(call: AskedCall, surroundings: CallSurroundings): Promise<Ran>;
}

/** `name` is the name that the model uses. */
export type AnnouncedTool = Pick<Tool, 'description' | 'parameters'> & { readonly name: string };

/** As the model wrote it. */
export type AskedCall = { readonly name: string; readonly arguments: unknown };

export type CallSurroundings = ToolSurroundings & {
  readonly channel: string;
  /** A dry run: a tool that reaches out is recorded and not run. */
  readonly dryRun: boolean;
  /** The same call ran so often in this turn that it gives nothing new; absent: no. */
  readonly repeated?: boolean;
  /** Absent: nobody has approved any call. */
  readonly approved?: GivenApproval;
  /** Lets the call wait for a person's approval, from the end of this turn on. */
  ask(call: WantedCall): Promise<AskAnswer>;
  logCall(call: BegunCall): Promise<LoggedCall>;
  logCallEnd(key: string, ending: CallEnding): void;
};

/** `text` is for the model, `use` for the audit. */
export type Ran = { readonly text: string; readonly use: ToolUse };

type Arguments = Readonly<Record<string, unknown>>;

/** The parameters of a tool that takes one required text. */
export function oneText(name: string, description: string): ToolParameters {
  return {
    type: 'object',
    properties: { [name]: { type: 'string', description } },
    required: [name],
  };
}

/** @returns the text under that name; null: there is none, or it is not a text */
export function textIn(args: Arguments, name: string): string | null {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  return typeof value === 'string' ? value : null;
}

/**
 * @param charactersMax UTF-16 code units; a surrogate pair is never split
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
