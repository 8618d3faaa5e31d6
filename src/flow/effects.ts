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
  return {
    replies: repliesOf(kit, line, claim, text, timing.decidedAt),
    turn: { at: message.acceptedAt, text: message.text, reply: answered ? text : null },
    session: null,
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

/** One reply, or several parts that share an id with `-00`, `-01`, … behind it. */
function repliesOf(
  kit: Kit,
  { channel, brain }: Line,
  { message }: InClaim,
  text: string,
  createdAt: number,
): readonly Reply[] {
  const id = kit.ids.reply();
  const whole: Reply = {
    id,
    inReplyTo: message.id,
    conversation: message.conversation,
    address: message.address,
    brain: brain.name,
    text,
    createdAt,
    sessionStarted: null,
  };
  const parts = channel.split?.(text);
  if (parts === undefined || parts.length < 2) return [whole];
  return parts.map((part, index) => ({
    ...whole,
    id: `${id}-${String(index).padStart(2, '0')}` as ReplyId,
    text: part,
  }));
}
