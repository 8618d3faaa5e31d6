import type { Decision, Sorry } from '../domain/decision.ts';
import type { ReplyId } from '../domain/ids.ts';
import type { Reply } from '../domain/reply.ts';
import type { Effects, InClaim } from '../store/store.ts';
import type { CommandAnswer } from './commands.ts';
import type { TurnDesk } from './desk.ts';
import type { Kit, ActiveRoute } from './kit.ts';
import { sentenceOf, sessionNotice, wayOutOf } from './sentences.ts';
import type { SessionDecision } from './sessions.ts';

/** What one turn came to: a brain's decision, or svc's answer to a command. */
export type TurnEnd = Decision | CommandAnswer;

/** What an operator wrote in their place. */
type WrittenByHand = { readonly kind: 'by_hand'; readonly text: string };

/** What of a claim a turn's effects are made of. */
type Answered = Pick<InClaim, 'message' | 'attempt'>;

/** What happened on the way. Times are milliseconds since 1970. */
export type TurnTimeline = {
  readonly decision: SessionDecision;
  readonly claimedAt: number;
  readonly decidedAt: number;
  /** What the turn left on its desk. */
  readonly desk: Pick<
    TurnDesk,
    'steps' | 'noteMoves' | 'toolUses' | 'leftOut' | 'doubted' | 'unsent' | 'sensitivity'
  >;
};

/**
 * Everything one finished turn changes: the replies, what later turns remember, and the trace. A
 * sentence of svc's own is sent but not remembered. The person's message is always remembered,
 * unless it was a command.
 */
export function effectsOf(
  kit: Kit,
  route: ActiveRoute,
  claim: Answered,
  end: TurnEnd | WrittenByHand,
  timeline: TurnTimeline,
): Effects {
  const { message, attempt } = claim;
  const { decision, desk } = timeline;
  const own = end.kind === 'apology' ? apologyOn(route, end, timeline.decidedAt) : null;
  const text = own ?? (end as Exclude<typeof end, { kind: 'apology' }>).text;
  const reply = replyOf(kit, route, claim, text, timeline);
  const said = decision.act.kind === 'think' ? decision.act.text : null;
  const answered = end.kind === 'reply' || end.kind === 'by_hand' ? end.text : null;
  const command = end.kind === 'command' ? end : null;
  return {
    // A sentence of svc's own fits any platform, and is sent even where cutting is what failed.
    replies: own === null ? partsOf(route, reply) : [reply],
    turn:
      said === null
        ? null
        : { at: message.acceptedAt, text: said, reply: answered, sensitivity: desk.sensitivity },
    session: decision.move,
    imported: command?.imported ?? null,
    // Nobody is to blame for a turn that failed without them, too.
    leftOut: answered === null ? [] : desk.leftOut,
    doubted: answered === null ? [] : desk.doubted,
    notes: command?.notes ?? desk.noteMoves ?? [],
    toolUses: desk.toolUses ?? [],
    unsent: desk.unsent ?? [],
    trace: {
      acceptedAt: message.acceptedAt,
      claimedAt: timeline.claimedAt,
      decidedAt: timeline.decidedAt,
      brain: route.brain.name,
      attempt,
      outcome: end.kind === 'apology' ? end.apology : end.kind,
      steps: desk.steps,
    },
  };
}

/** Where sessions are on, the person is told how to begin anew: an earlier message may be why. */
function apologyOn({ session }: ActiveRoute, sorry: Sorry, now: number): string {
  const [trigger] = session?.triggers ?? [];
  const wayOut = trigger === undefined ? null : wayOutOf(sorry, trigger);
  return [sentenceOf(sorry, now), ...(wayOut === null ? [] : [wayOut])].join(' ');
}

function replyOf(
  kit: Kit,
  { channel, brain, session }: ActiveRoute,
  { message }: Answered,
  text: string,
  { decision, decidedAt }: TurnTimeline,
): Reply {
  const reason = decision.move?.reason ?? 'command';
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
function partsOf({ channel }: ActiveRoute, reply: Reply): readonly Reply[] {
  const parts = channel.split?.(reply.text);
  if (parts === undefined || parts.length < 2) return [reply];
  return parts.map((text, index) => ({
    ...reply,
    id: `${reply.id}-${String(index).padStart(2, '0')}` as ReplyId,
    text,
  }));
}
