import type { Decision } from '../domain/decision.ts';
import type { ReplyId } from '../domain/ids.ts';
import type { Reply } from '../domain/reply.ts';
import type { TraceStep } from '../domain/trace.ts';
import type { Effects, InClaim } from '../store/store.ts';
import type { Kit, Line } from './kit.ts';
import { sentences } from './sentences.ts';

type Timing = {
  readonly claimedAt: number;
  readonly decidedAt: number;
  readonly steps: readonly TraceStep[];
};

/**
 * Everything one finished turn changes: the replies, what later turns remember, and the trace.
 * A sentence of svc's own is sent but not remembered; the person's message always is.
 */
export function effectsOf(
  kit: Kit,
  line: Line,
  claim: InClaim,
  decision: Decision,
  timing: Timing,
): Effects {
  const { message, attempt } = claim;
  const answered = decision.kind === 'reply';
  const text = answered ? decision.text : sentences[decision.apology];
  const reply = replyOf(kit, line, claim, text, timing.decidedAt);
  return {
    // A sentence of svc's own fits any platform, and is sent even where cutting is what failed.
    replies: answered ? partsOf(line, reply) : [reply],
    turn: { at: message.acceptedAt, text: message.text, reply: answered ? text : null },
    session: null,
    imported: null,
    trace: {
      acceptedAt: message.acceptedAt,
      claimedAt: timing.claimedAt,
      decidedAt: timing.decidedAt,
      brain: line.brain.name,
      attempt,
      outcome: answered ? 'reply' : decision.apology,
      steps: timing.steps,
    },
  };
}

function replyOf(
  kit: Kit,
  { brain }: Line,
  { message }: InClaim,
  text: string,
  createdAt: number,
): Reply {
  return {
    id: kit.ids.reply(),
    inReplyTo: message.id,
    conversation: message.conversation,
    address: message.address,
    brain: brain.name,
    text,
    createdAt,
    sessionStarted: null,
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
