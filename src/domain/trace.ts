/** The trace of a turn: the steps that led to its reply, and their words for people. */
import type { Verdict, GivenApproval } from './approval.ts';
import type { CutReason } from './conversation.ts';
import { apologies } from './decision.ts';
import type { MessageId, ModelName } from './ids.ts';
import type { FailureKind } from './failure.ts';
import { formatModelName } from './model-words.ts';
import { plural } from './plural.ts';
import type { RouteMatch } from './routing.ts';
import type { GrantMode, ToolOutcome } from './tool-use.ts';
import { sumOf } from './money.ts';
import type { Try, Usage } from './outcome.ts';
import type { ReadingPart, UnreadReason } from './attachment.ts';

/**
 * One thing that happened to a message, without any text. Times are in milliseconds since its
 * claim.
 */
export type TraceStep =
  /** Which route of the configuration the message took, and by which conditions. */
  | {
      readonly kind: 'route';
      readonly number: number;
      readonly matched: readonly RouteMatch[];
    }
  | {
      readonly kind: 'session';
      readonly session: number;
      /** Why the session began with this message; null: the session existed before. */
      readonly cut: CutReason | null;
      /** The command that svc itself answered; null: a brain answered. */
      readonly command: string | null;
    }
  /**
   * An operator answered the message. `answeredWith`: the later message whose reply answered both;
   * null: it has its own reply.
   */
  | { readonly kind: 'operator'; readonly answeredWith: MessageId | null }
  /** The message was merged into that later one, whose turn answered both and has the trace. */
  | { readonly kind: 'joined'; readonly answeredWith: MessageId }
  | { readonly kind: 'shield'; readonly dropped: readonly ModelName[]; readonly kept: number }
  /**
   * The message has pictures. `blind` models see none. svc asks them only if no other model sees
   * pictures.
   */
  | { readonly kind: 'sight'; readonly blind: readonly ModelName[]; readonly seeing: number }
  /** One attachment of the message. `part`: the step that failed, or the last step. */
  | {
      readonly kind: 'file';
      readonly part: ReadingPart;
      readonly result: 'read' | UnreadReason;
      readonly startMs: number;
      readonly ms: number;
    }
  /**
   * The parts of the conversation that these models did not see.
   * - `private`: it is not for models elsewhere.
   * - `unanswered`: these messages had no answer, and the model answered only without them.
   * - `refused`: one of the unanswered messages, which no later turn sees.
   */
  | {
      readonly kind: 'left_out';
      readonly why: 'private' | 'unanswered' | 'refused';
      readonly models: readonly ModelName[];
      readonly turns: number;
      readonly notes: number;
    }
  | {
      readonly kind: 'model';
      readonly model: ModelName;
      readonly rank: number;
      readonly startMs: number;
      readonly ms: number;
      readonly result: 'answer' | FailureKind;
      readonly tries: readonly Try[];
      readonly linesDropped: number;
      /**
       * The tokens of the call that answered; null: the provider reported none, or no call
       * answered.
       */
      readonly usage: Usage | null;
      /**
       * The cost of all tries, a decimal number; absent: the model has no price, or it was not
       * kept.
       */
      readonly cost?: string | null;
      /**
       * The share of the last prompt of this conversation, brain and model that this prompt begins
       * with, from 0 to 1; absent: no earlier prompt is known.
       */
      readonly reuse?: number | null;
      /** The provider cut the answer at a limit of its length; absent: the answer is whole. */
      readonly isCut?: boolean | null;
      /** Tools that the model was not offered, since its provider refused them; absent: none. */
      readonly withoutTools?: string | null;
      /** The HTTP status of the failure; absent: there was no answer. */
      readonly status?: number | null;
      /** The provider's words about the failure, scrubbed; absent: none. */
      readonly said?: string | null;
    }
  | {
      readonly kind: 'tool';
      readonly tool: string;
      readonly mode: GrantMode;
      readonly outcome: ToolOutcome;
      readonly rule: string;
      readonly startMs: number;
      readonly ms: number;
    }
  /** The turn follows a call that waited for an approval; `by` null: nobody decided in time. */
  | {
      readonly kind: 'approval';
      readonly tool: string;
      readonly verdict: Verdict;
      readonly by: GivenApproval['by'] | null;
    }
  | {
      readonly kind: 'policy';
      readonly policy: 'priority' | 'consensus';
      readonly verdict: 'reply' | 'none';
      readonly winner: ModelName | null;
      /** Groups of models that gave the same answer, largest first. Only consensus counts votes. */
      readonly votes: readonly (readonly ModelName[])[];
      readonly why: string;
    };

/** Why a session ended, as the rest of a sentence. */
export const cutReasons = {
  command: 'a command asked for it',
  daily: 'its time of day had come',
  idle: 'nothing had been said for long',
} as const satisfies Record<CutReason, string>;

/** The session, in words. */
export function describeSession({
  session,
  cut,
  command,
}: Extract<TraceStep, { kind: 'session' }>): string {
  const why = cut === null ? '' : `, which began with it: ${cutReasons[cut]}`;
  const answered = command === null ? '' : `; ${command} was answered by svc itself`;
  return `session ${session}${why}${answered}`;
}

/** The models that the privacy filter dropped, in words. */
export function describePrivacyFilter({
  dropped,
  kept,
}: Extract<TraceStep, { kind: 'shield' }>): string {
  const who = dropped.length === 0 ? 'nothing' : dropped.map(formatModelName).join(', ');
  return `privacy filter dropped ${who}; ${kept} may be asked`;
}

/** The parts that a model did not see, and why, in words. */
export function describeLeftOut({
  why,
  turns,
  notes,
}: Extract<TraceStep, { kind: 'left_out' }>): string {
  if (why === 'refused') return 'refuses a message that had no answer: no later turn sees it';
  if (why === 'unanswered') {
    return `answered only without ${plural(turns, 'message')} that had no answer`;
  }
  const what = [
    ...(turns > 0 ? [plural(turns, 'earlier turn')] : []),
    ...(notes > 0 ? [plural(notes, 'note')] : []),
  ];
  return `${what.join(' and ')} private, and not shown to models elsewhere`;
}

/** The models that see no pictures, in words. */
export function describeSight({ blind, seeing }: Extract<TraceStep, { kind: 'sight' }>): string {
  const asked = seeing === 0 ? 'no model sees pictures' : 'not asked, since another sees pictures';
  return `${blind.map(formatModelName).join(', ')}: ${asked}`;
}

/** The decision about a call that waited, in words. */
export function describeApproval({
  tool,
  verdict,
  by,
}: Extract<TraceStep, { kind: 'approval' }>): string {
  const who = by === null ? '' : ` by ${by === 'operator' ? 'the operator' : 'an approver'}`;
  return `follows a call of ${tool} that waited: ${verdict}${who}`;
}

type AnsweredStep = Extract<TraceStep, { kind: 'operator' | 'joined' }>;

/** The person or the other message that answered, in words. */
export function describeAnswered({ kind, answeredWith }: AnsweredStep): string {
  if (kind === 'joined') return `one message with ${answeredWith}, and answered with it`;
  const how = answeredWith === null ? '' : ` with ${answeredWith}, which came after it`;
  return `answered by the operator${how}`;
}

/**
 * How a turn ended: with a model's answer, with svc's own answer to a command, with an operator's
 * answer, or with an apology. `abandoned`: nobody waits for the answer to an API request any more,
 * because its client hung up or svc ended meanwhile.
 */
export const turnOutcomes = ['reply', 'command', 'by_hand', 'abandoned', ...apologies] as const;

export type TurnOutcome = (typeof turnOutcomes)[number];

/** Everything that happened to one message, on one clock (milliseconds since 1970). */
export type Trace = {
  readonly acceptedAt: number;
  readonly claimedAt: number;
  readonly decidedAt: number;
  readonly brain: string;
  readonly attempt: number;
  readonly outcome: TurnOutcome;
  readonly steps: readonly TraceStep[];
};

/** The facts of a turn in a list. `model` gave the reply; null: none did. */
export type TurnSummary = {
  readonly brain: string;
  readonly outcome: TurnOutcome;
  readonly model: ModelName | null;
};

/**
 * The policy step names the model. An agent has no policy: its last model that answered gave the
 * reply.
 */
export function summaryOf({ brain, outcome, steps }: Trace): TurnSummary {
  if (outcome !== 'reply') return { brain, outcome, model: null };
  for (const step of steps.toReversed()) {
    if (step.kind === 'policy') return { brain, outcome, model: step.winner };
    if (step.kind === 'model' && step.result === 'answer') {
      return { brain, outcome, model: step.model };
    }
  }
  return { brain, outcome, model: null };
}

type ModelStep = Extract<TraceStep, { kind: 'model' }>;

/** `estimated`: a provider did not report a part of it; that part is an estimate. */
type TurnUsage = Usage & { readonly estimated: boolean };

/**
 * The known tokens and cost of all calls, including calls that lost or failed: `about 1,240 tokens
 * in, 80 out, cost 0.0012`; null: nothing is known.
 */
export function describeSpentIn(steps: readonly TraceStep[]): string | null {
  const used = usageOfSteps(steps);
  if (used === null) return null;
  const costs = steps.flatMap((step) => (step.kind === 'model' ? (step.cost ?? []) : []));
  return describeUsage(used) + (costs.length === 0 ? '' : `, cost ${sumOf(...costs)}`);
}

/** The known tokens of all calls to models, including calls that lost or failed; null: none. */
export function usageOfSteps(steps: readonly TraceStep[]): TurnUsage | null {
  const known = steps.flatMap((step) => (step.kind === 'model' ? (usageOf(step) ?? []) : []));
  return known.length === 0 ? null : known.reduce(addUsage);
}

/** The part of the prompt that a model need not read anew, in words; null: nothing is known. */
export function describeReuse({ reuse, ...step }: ModelStep): string | null {
  const { inputTokens = null, cachedTokens = null } = usageOf(step) ?? {};
  const parts = [
    ...(reuse == null ? [] : [`begins with ${Math.floor(reuse * 100)} % of the last prompt`]),
    ...(cachedTokens === null || inputTokens === null
      ? []
      : [`${count(cachedTokens)} of ${count(inputTokens)} tokens from the cache`]),
  ];
  return parts.length === 0 ? null : parts.join('; ');
}

/** An old trace has only the tokens of the call that answered. */
function usageOf({ tries, usage }: Pick<ModelStep, 'tries' | 'usage'>): TurnUsage | null {
  const used = tries.flatMap(({ tokens }) => tokens ?? []);
  if (used.length === 0) return usage && { ...usage, estimated: false };
  return used
    .map(({ input, output, estimated, cached = null }): TurnUsage => {
      return { inputTokens: input, outputTokens: output, cachedTokens: cached, estimated };
    })
    .reduce(addUsage);
}

function addUsage(one: TurnUsage, other: TurnUsage): TurnUsage {
  const sum = (of: keyof Usage): number | null =>
    (one[of] ?? other[of] ?? null) === null ? null : (one[of] ?? 0) + (other[of] ?? 0);
  return {
    inputTokens: sum('inputTokens'),
    outputTokens: sum('outputTokens'),
    cachedTokens: sum('cachedTokens'),
    estimated: one.estimated || other.estimated,
  };
}

function describeUsage({ inputTokens, outputTokens, estimated }: TurnUsage): string {
  const text = (tokens: number | null): string => (tokens === null ? '?' : count(tokens));
  return `${estimated ? 'about ' : ''}${text(inputTokens)} tokens in, ${text(outputTokens)} out`;
}

const count = (tokens: number): string => tokens.toLocaleString('en-US');
