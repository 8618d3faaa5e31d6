import type { Decision } from '../domain/decision.ts';
import type { ReplyId } from '../domain/ids.ts';
import type { Reply } from '../domain/reply.ts';
import type { ToolUse } from '../domain/tool-use.ts';
import type { TraceStep } from '../domain/trace.ts';
import type { NoteMove } from '../domain/note.ts';
import type { Effects, InClaim } from '../store/store.ts';
import type { CommandAnswer } from './commands.ts';
import type { Kit, Line } from './kit.ts';
import { sentences, sessionNotice } from './sentences.ts';
import type { SessionStep } from './sessions.ts';

/** What one turn came to: a brain's decision, or svc's answer to a command. */
export type TurnEnd = Decision | CommandAnswer;

/** What happened on the way. Times are milliseconds since 1970. */
export type Course = {
  readonly step: SessionStep;
  readonly claimedAt: number;
  readonly decidedAt: number;
  readonly steps: readonly TraceStep[];
  readonly noteMoves: readonly NoteMove[] | null;
  readonly toolUses: readonly ToolUse[] | null;
};

/**
 * Everything one finished turn changes: the replies, what later turns remember, and the trace.
 * A sentence of svc's own is sent but not remembered; the person's message always is, unless it
 * was a command.
 */
export function effectsOf(
  kit: Kit,
  line: Line,
  claim: InClaim,
  end: TurnEnd,
  course: Course,
): Effects {
  const { message, attempt } = claim;
  const { step } = course;
  const own = end.kind === 'apology' ? sentences[end.apology] : null;
  const text = own ?? (end as Exclude<TurnEnd, { kind: 'apology' }>).text;
  const reply = replyOf(kit, line, claim, text, course);
  const said = step.act.kind === 'think' ? step.act.text : null;
  const answered = end.kind === 'reply' ? end.text : null;
  const command = end.kind === 'command' ? end : null;
  return {
    // A sentence of svc's own fits any platform, and is sent even where cutting is what failed.
    replies: own === null ? partsOf(line, reply) : [reply],
    turn: said === null ? null : { at: message.acceptedAt, text: said, reply: answered },
    session: step.move,
    imported: command?.imported ?? null,
    notes: command?.notes ?? course.noteMoves ?? [],
    toolUses: course.toolUses ?? [],
    trace: {
      acceptedAt: message.acceptedAt,
      claimedAt: course.claimedAt,
      decidedAt: course.decidedAt,
      brain: line.brain.name,
      attempt,
      outcome: end.kind === 'apology' ? end.apology : end.kind,
      steps: course.steps,
    },
  };
}

function replyOf(
  kit: Kit,
  { channel, brain, session }: Line,
  { message }: InClaim,
  text: string,
  { step, decidedAt }: Course,
): Reply {
  const reason = step.move?.reason ?? 'command';
  const started = reason === 'command' ? null : reason;
  const told = started === null || channel.tellsSessions;
  const notice = told ? null : sessionNotice(started, (session?.recallMax ?? 0) > 0);
  return {
    id: kit.ids.reply(),
    inReplyTo: message.id,
    conversation: message.conversation,
    address: message.address,
    brain: brain.name,
    text: notice === null ? text : `${notice}\n\n${text}`,
    createdAt: decidedAt,
    sessionStarted: started,
  };
}

/** The reply as it is, or several parts that share its id with `-00`, `-01`, … behind it. */
function partsOf({ channel }: Line, reply: Reply): readonly Reply[] {
  const parts = channel.split?.(reply.text);
  if (parts === undefined || parts.length < 2) return [reply];
  return parts.map((text, index) => ({
    ...reply,
    id: `${reply.id}-${String(index).padStart(2, '0')}` as ReplyId,
    text,
  }));
}
