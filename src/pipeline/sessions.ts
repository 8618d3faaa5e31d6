/**
 * What one message means for its conversation: whether a new session begins with it, and whether it
 * is for the brain or is a command that svc answers.
 *
 * Pure, and decided by the message alone. Expiry compares the acceptance times of this message and
 * of the one before it, never the current time. So a message that waited keeps its meaning. Setting
 * the clock back does not expire a session: `previousAt` never goes back with it.
 */
import { minuteMs } from '../lib/durations.ts';
import type { SessionConfig } from '../config/config.ts';
import type { ApprovalId } from '../domain/ids.ts';
import type { CutReason, SessionMove, TurnRow } from '../domain/conversation.ts';
import { commandWordOf } from '../domain/command-words.ts';
import { leadingCommand } from '../domain/routing.ts';
import type { Message } from '../domain/message.ts';
import type { TraceStep } from '../domain/trace.ts';
import type { Memory } from '../ledger/ledger.ts';
import { holdsApprovalCode } from './approvals/request.ts';
import { isFollowUpText } from './approvals/sentences.ts';

/** `move` ends the active session just before this message; null: the session continues. */
export type SessionDecision = { readonly move: SessionMove | null; readonly intent: Intent };

/**
 * What the pipeline does with the message. `rest` is the text behind the command's word. `again` is
 * the unanswered turn that this turn asks again and replaces.
 */
export type Intent =
  | { readonly kind: 'think'; readonly text: string; readonly again?: TurnRow }
  | { readonly kind: 'begin' }
  | { readonly kind: 'recall'; readonly rest: string }
  | { readonly kind: 'notes'; readonly rest: string }
  | { readonly kind: 'tools' }
  | { readonly kind: 'start' | 'help' }
  /** The command of a route, without anything to ask. */
  | { readonly kind: 'describe'; readonly command: string }
  /**
   * There is nothing to ask again. `at` names the turn that the sender meant; null: the last one.
   */
  | { readonly kind: 'retry'; readonly at: number | null }
  | { readonly kind: 'approve' | 'refuse'; readonly code: string }
  | { readonly kind: 'pair'; readonly code: string }
  /** svc's own messages: no person wrote them. */
  | { readonly kind: 'welcome' }
  | { readonly kind: 'follow'; readonly approval: ApprovalId };

/**
 * Which commands exist here. Each depends on something: a session's rules, a brain's notes, an
 * agent, an approver, a messenger, or storage that remembers unanswered turns.
 */
export type CommandsOn = {
  readonly session: SessionConfig | null;
  readonly notes: boolean;
  readonly tools: boolean;
  readonly approvals: boolean;
  readonly messenger: boolean;
  readonly retries: boolean;
  /** The command of the message's route, which the brain is not shown; null: none. */
  readonly routeCommand: string | null;
};

export function decideSession(
  message: Message,
  memory: Memory,
  available: CommandsOn,
): SessionDecision {
  const { pairingCode: code, approval, welcome } = message;
  if (welcome === true) return { move: null, intent: { kind: 'welcome' } };
  if (approval !== undefined) return { move: null, intent: { kind: 'follow', approval } };
  if (code !== undefined) return { move: null, intent: { kind: 'pair', code } };
  const { session, notes, tools, approvals, messenger, routeCommand } = available;
  if (session === null && !notes && !tools && !approvals && !messenger && routeCommand === null) {
    return asQuestion(message);
  }
  const { word, rest } = firstWord(message.text);
  const command = intentOf(word, rest, available);
  if (isTrigger(word, session) && !hasApprovalCode(command)) {
    const move = { reason: 'command', at: message.acceptedAt } as const;
    if (rest === '' && message.media === null) return { move, intent: { kind: 'begin' } };
    // The first message of the new session may be any command except another trigger.
    const first = firstWord(rest);
    const intent = intentOf(first.word, first.rest, available);
    return { move, intent: intent ?? questionOf(message, rest, available) };
  }
  const reason = session === null ? null : expiryReason(message.acceptedAt, memory, session);
  const move = reason === null ? null : { reason, at: message.acceptedAt };
  const intent = command ?? questionOf(message, message.text, available);
  if (intent.kind !== 'retry' || move !== null) return { move, intent };
  const again = memory.turns.findLast(
    (turn) => mayBeAskedAgain(turn) && (intent.at === null || intent.at === turn.at),
  );
  return {
    move,
    intent: again === undefined ? intent : { kind: 'think', text: again.text, again },
  };
}

/** Whether the message is one of the available commands, session triggers included. */
export function isCommand(text: string, available: CommandsOn): boolean {
  const { word, rest } = firstWord(text);
  return isTrigger(word, available.session) || intentOf(word, rest, available) !== null;
}

function isTrigger(word: string, session: SessionConfig | null): boolean {
  return session?.triggers.includes(word) === true;
}

/** Whether the turn has no answer, and has a person's own words. */
export function mayBeAskedAgain({ text, reply, quoted }: TurnRow): boolean {
  return reply === null && quoted !== true && text !== '' && !isFollowUpText(text);
}

/** The unanswered turn that the message asks again; null: it asks something else. */
export function repeatedTurnOf({ intent }: SessionDecision): TurnRow | null {
  return intent.kind === 'think' ? (intent.again ?? null) : null;
}

/** The number of the session that the message is in. */
function sessionOf({ session }: Memory, { move }: SessionDecision): number {
  return session.number + (move === null ? 0 : 1);
}

/** The trace step: the session of this message, and why it is a new one. */
export function traceSession(memory: Memory, decision: SessionDecision): TraceStep {
  const { move, intent } = decision;
  return {
    kind: 'session',
    session: sessionOf(memory, decision),
    cut: move?.reason ?? null,
    command: commandNameOf(intent),
  };
}

function commandNameOf(intent: Intent): string | null {
  if (intent.kind === 'think') return intent.again === undefined ? null : 'retry';
  return intent.kind === 'follow' || intent.kind === 'welcome' ? null : intent.kind;
}

function asQuestion({ text }: Message): SessionDecision {
  return { move: null, intent: { kind: 'think', text } };
}

/** What the brain is asked: the text without the command of its route. */
function questionOf(message: Message, text: string, { routeCommand }: CommandsOn): Intent {
  const command = routeCommand === null ? null : leadingCommand(text, []);
  if (command === null || command.command !== routeCommand) return { kind: 'think', text };
  const isBare = command.rest === '' && message.media === null;
  if (isBare && message.context?.quoted === undefined) {
    return { kind: 'describe', command: routeCommand };
  }
  return { kind: 'think', text: command.rest };
}

/** A route keeps its command, even if a later svc has a command with the same word. */
function intentOf(word: string, rest: string, available: CommandsOn): Intent | null {
  const isOfRoute = word.split('@', 1)[0] === available.routeCommand;
  const kind = isOfRoute ? null : commandWordOf(word);
  switch (kind) {
    case null:
      return null;
    case 'recall':
      return available.session === null ? null : { kind, rest: rest.trimEnd() };
    case 'notes':
      return available.notes ? { kind, rest: rest.trimEnd() } : null;
    case 'tools':
      return available.tools ? { kind } : null;
    case 'approve':
    case 'refuse':
      return available.approvals ? { kind, code: rest.trim() } : null;
    case 'retry':
      return available.retries ? { kind, at: turnTimeIn(rest) } : null;
    case 'help':
    case 'start':
      return available.messenger ? { kind } : null;
    default:
      return kind satisfies never;
  }
}

/** An approval code is for svc alone, even where the word begins a session. */
function hasApprovalCode(intent: Intent | null): boolean {
  return (
    (intent?.kind === 'approve' || intent?.kind === 'refuse') && holdsApprovalCode(intent.code)
  );
}

/**
 * The command that asks that turn again, however many came after it. If two turns share the
 * millisecond, it means the last one.
 */
export function retryOf({ at }: Pick<TurnRow, 'at'>): string {
  return `/retry ${at}`;
}

function turnTimeIn(rest: string): number | null {
  return /^\d{1,16}\s*$/.test(rest) ? Number(rest) : null;
}

function firstWord(text: string): { readonly word: string; readonly rest: string } {
  const [, word = '', rest = ''] = /^\s*(\S*)\s*([^]*)$/.exec(text) ?? [];
  return { word, rest };
}

/** A session without a turn has nothing to cut, so it continues. */
function expiryReason(
  at: number,
  { previousAt, empty }: Memory,
  { dailyAtMinute, idleMinutes }: SessionConfig,
): CutReason | null {
  if (previousAt === null || empty) return null;
  if (dailyAtMinute !== null && previousAt < lastBoundary(at, dailyAtMinute)) return 'daily';
  if (idleMinutes > 0 && at - previousAt >= idleMinutes * 60_000) return 'idle';
  return null;
}

/**
 * The newest moment, not after `at`, at which this machine's wall clock first showed that time of
 * its day. If spring skips the hour, it is the moment of the jump. If autumn repeats the hour, it
 * is the first of the two.
 */
function lastBoundary(at: number, minute: number): number {
  const today = new Date(at);
  const here = boundaryOn(today.getFullYear(), today.getMonth(), today.getDate(), minute);
  if (here <= at) return here;
  return boundaryOn(today.getFullYear(), today.getMonth(), today.getDate() - 1, minute);
}

function boundaryOn(year: number, month: number, day: number, minute: number): number {
  const shown = new Date(year, month, day, 0, minute);
  // `Date` shows a skipped time as one after the jump: go back to the first minute that shows as
  // much.
  const date = shown.getDate();
  let start = shown.getTime();
  for (let before = start - minuteMs; ; before -= minuteMs) {
    const earlier = new Date(before);
    if (earlier.getDate() !== date || minuteOf(earlier) < minute) return start;
    start = before;
  }
}

function minuteOf(time: Date): number {
  return time.getHours() * 60 + time.getMinutes();
}
