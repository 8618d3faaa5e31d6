/**
 * Turns the end of a turn into the `Effects` that the ledger commits: replies, history, approvals
 * and the trace.
 */
import { withSpeaker, unshownQuote, withQuote } from '../domain/surroundings.ts';
import type { Channel } from '../channels/channel.ts';
import { isMessengerType } from '../channels/registry.ts';
import type { Approval } from '../domain/approval.ts';
import type { Abandoned, Decision, ApologyFacts } from '../domain/decision.ts';
import type { TurnRow } from '../domain/conversation.ts';
import { channelTypeOf, type ChannelKey, type ReplyId } from '../domain/ids.ts';
import type { Choice, Reply } from '../domain/reply.ts';
import type { Message } from '../domain/message.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import type { TraceStep } from '../domain/trace.ts';
import type { Effects, InClaim } from '../ledger/ledger.ts';
import { choicesOf, describeOutcome } from './approvals/sentences.ts';
import { approversOf } from './approvals/request.ts';
import type { CommandAnswer } from './commands.ts';
import type { PipelineTurnContext } from './turn-context.ts';
import type { ActiveChannel, ActiveRoute, Deps } from './deps.ts';
import { sentenceOf, sessionNotice, newSessionHint } from './sentences.ts';
import { mayBeAskedAgain, repeatedTurnOf, retryOf, type SessionDecision } from './sessions.ts';
import { outcomeOf } from './approvals/decide.ts';

/** The end of one turn: a brain's decision, or svc's answer to a command. */
export type TurnEnd = Decision | CommandAnswer;

/** The text of an operator who answers in their place. */
type OperatorText = { readonly kind: 'by_hand'; readonly text: string };

/**
 * The end of an API request. Nothing of it is remembered: its client brings the conversation along
 * each time.
 */
export function effectsOfRequest(
  deps: Deps,
  route: AnsweredRoute,
  claim: AnsweredClaim,
  end: Decision | Abandoned,
  timeline: Omit<TurnTimeline, 'decision'>,
): Effects {
  const intent = { kind: 'think', text: '' } as const;
  const whole = { ...timeline, decision: { move: null, intent } };
  const effects = effectsOf(deps, route, claim, end, whole);
  return { ...effects, turn: null, leftOut: [], doubted: [], isOnly: true };
}

/** The end of an API request without the work of a brain. */
export function effectsOfUnanswered(
  deps: Deps,
  channel: ActiveChannel,
  claim: InClaim,
  end: Decision | Abandoned,
): Effects {
  const { route, sensitivity } = claim.message;
  const now = deps.now();
  const timeline = { claimedAt: now, decidedAt: now, turnContext: emptyContext(sensitivity) };
  const brain = { name: route?.brain ?? '', agent: null };
  return effectsOfRequest(deps, { ...channel, brain }, claim, end, timeline);
}

/** The part of a claim that the effects need. */
type AnsweredClaim = Pick<InClaim, 'message' | 'attempt'>;
/** The part of a route that the effects need. */
type AnsweredRoute = Pick<ActiveRoute, 'channel' | 'session'> & {
  readonly brain: Pick<ActiveRoute['brain'], 'name' | 'agent'>;
};

/** The course of the turn. Times are milliseconds since 1970. */
export type TurnTimeline = {
  readonly decision: SessionDecision;
  readonly claimedAt: number;
  readonly decidedAt: number;
  /** What the turn collected in its context. */
  readonly turnContext: Pick<
    PipelineTurnContext,
    | 'steps'
    | 'noteMoves'
    | 'toolUses'
    | 'leftOut'
    | 'doubted'
    | 'unsent'
    | 'asked'
    | 'followed'
    | 'remembered'
    | 'quoted'
    | 'window'
    | 'shownAs'
    | 'hasActed'
    | 'sensitivity'
  >;
};

/** An empty turn context, for turns that no brain answered. */
export function emptyContext(
  sensitivity: Sensitivity,
  steps: TraceStep[] = [],
): TurnTimeline['turnContext'] {
  const emptyFields = {
    noteMoves: null,
    toolUses: null,
    unsent: null,
    asked: null,
    followed: null,
  };
  return {
    steps,
    ...emptyFields,
    remembered: null,
    quoted: null,
    window: null,
    shownAs: null,
    hasActed: false,
    leftOut: [],
    doubted: [],
    sensitivity,
  };
}

/**
 * Everything that one finished turn changes: the replies, the memory of later turns, and the trace.
 * A sentence of svc's own is sent but not remembered. The person's message is always remembered,
 * unless it was a command, or nothing in it can be read.
 */
export function effectsOf(
  deps: Deps,
  route: AnsweredRoute,
  claim: AnsweredClaim,
  end: TurnEnd | OperatorText | Abandoned,
  timeline: TurnTimeline,
): Effects {
  const { message, attempt } = claim;
  const { decision, turnContext } = timeline;
  const repeated = repeatedTurnOf(decision);
  const apologyText = end.kind === 'apology' ? apologyWithOutcome(route, end, timeline) : null;
  const text = apologyText ?? ('text' in end ? end.text : null);
  const command = end.kind === 'command' ? end : null;
  // A call waits for approval only if the question is sent.
  const asked = end.kind === 'reply' ? turnContext.asked : null;
  // An unreadable message is no question, and later turns learn nothing from it.
  const isUnreadable = command?.command === 'unread';
  const followed = command === null ? turnContext.followed : null;
  const rememberedText = isUnreadable
    ? null
    : rememberedTextOf(message, decision, followed, turnContext);
  const answerText = end.kind === 'reply' || end.kind === 'by_hand' ? end.text : null;
  const { sensitivity } = turnContext;
  const turn =
    rememberedText === null
      ? null
      : { at: message.acceptedAt, text: rememberedText, reply: answerText, sensitivity };
  const choices =
    asked !== null
      ? approvalChoices(route, message.channel, asked)
      : end.kind === 'apology'
        ? failureChoices(deps, route, message.channel, end, isRepeatable(turnContext) ? turn : null)
        : command?.choices;
  const isApology = apologyText !== null || isUnreadable;
  const content = text === null ? null : { text, choices, isApology };
  const reply = content === null ? null : replyOf(deps, route, claim, content, timeline);
  return {
    // svc's own sentence fits any platform, and is sent even where splitting is what failed.
    replies: reply === null ? [] : apologyText === null ? partsOf(route.channel, reply) : [reply],
    turn,
    session: decision.move,
    ...(turnContext.window !== null && { window: turnContext.window }),
    imported: command?.imported ?? null,
    // A turn that also failed without them proves nothing against them.
    leftOut: [
      ...(repeated === null ? [] : [repeated]),
      ...(answerText === null ? [] : turnContext.leftOut),
    ],
    doubted: answerText === null ? [] : turnContext.doubted,
    notes: command?.notes ?? turnContext.noteMoves ?? [],
    toolUses: turnContext.toolUses ?? [],
    unsent: turnContext.unsent ?? [],
    ...(asked === null && turnContext.followed === null
      ? null
      : approvalEffects(asked, turnContext)),
    trace: {
      acceptedAt: message.acceptedAt,
      claimedAt: timeline.claimedAt,
      decidedAt: timeline.decidedAt,
      brain: route.brain.name,
      attempt,
      outcome: end.kind === 'apology' ? end.apology : end.kind,
      steps: turnContext.steps,
    },
  };
}

/** The label of a call is the turn's label, which covers everything that the turn was shown. */
function approvalEffects(
  asked: readonly Approval[] | null,
  turnContext: TurnTimeline['turnContext'],
): Pick<Effects, 'asked' | 'settled'> {
  const { followed, sensitivity } = turnContext;
  return {
    ...(asked !== null && { asked: asked.map((one) => ({ ...one, sensitivity })) }),
    ...(followed !== null && {
      settled: { id: followed.approval.id, outcome: outcomeOf(turnContext) },
    }),
  };
}

/**
 * The text that is remembered as said; null: nothing of this turn is remembered. A quoted private
 * message is remembered only by a private turn; a public one remembers that there was a quote.
 */
function rememberedTextOf(
  message: Message,
  { intent }: SessionDecision,
  followed: PipelineTurnContext['followed'],
  { remembered, quoted, sensitivity }: TurnTimeline['turnContext'],
): string | null {
  if (intent.kind !== 'think') return followed?.said ?? null;
  if (intent.again !== undefined) return intent.text;
  const isHidden = quoted?.sensitivity === 'private' && sensitivity === 'public';
  return withQuote(
    withSpeaker(message, remembered ?? intent.text),
    isHidden ? unshownQuote : quoted,
  );
}

/** A turn that had an effect, or that continued an approved call, must not run twice. */
function isRepeatable({ followed, hasActed }: TurnTimeline['turnContext']): boolean {
  return followed === null && !hasActed;
}

/**
 * The buttons after a failed turn: ask again, if the turn is remembered, and a new session, if the
 * sentence names it.
 * @param rememberedTurn the turn if it is remembered and may be repeated, else null
 */
function failureChoices(
  { ledger }: Deps,
  { session }: AnsweredRoute,
  channel: ChannelKey,
  sorry: ApologyFacts,
  rememberedTurn: TurnRow | null,
): readonly Choice[] | undefined {
  if (!isMessengerType(channelTypeOf(channel))) return undefined;
  const triggers = session?.triggers ?? [];
  const isAskable =
    rememberedTurn !== null &&
    mayBeAskedAgain(rememberedTurn) &&
    !pointlessToRepeat.has(sorry.apology);
  const again = isAskable && !triggers.includes('/retry') && ledger.durability.durable;
  const [trigger] = triggers;
  const isNew = trigger !== undefined && newSessionHint(sorry, trigger) !== null;
  const choices = [
    ...(again ? [{ label: 'Try again', says: retryOf(rememberedTurn) }] : []),
    ...(isNew ? [{ label: 'New session', says: trigger }] : []),
  ];
  return choices.length === 0 ? undefined : choices;
}

/** After these apologies the same message would fail again. */
const pointlessToRepeat: ReadonlySet<ApologyFacts['apology']> = new Set([
  'over_budget',
  'unseen',
  'too_long',
]);

/** Buttons only where somebody who may decide can press them. */
function approvalChoices(
  { brain }: AnsweredRoute,
  channel: ChannelKey,
  asked: readonly Approval[],
): readonly Choice[] | undefined {
  if (!isMessengerType(channelTypeOf(channel))) return undefined;
  return approversOf(brain.agent, channel).here ? choicesOf(asked) : undefined;
}

/** Says what happened to the approved call, also when no model answers. */
function apologyWithOutcome(
  route: AnsweredRoute,
  sorry: ApologyFacts,
  { turnContext, decidedAt }: Pick<TurnTimeline, 'turnContext' | 'decidedAt'>,
): string {
  const sentence = apologySentence(route, sorry, decidedAt);
  if (turnContext.followed === null) return sentence;
  return `${describeOutcome(turnContext.followed.approval, outcomeOf(turnContext))} ${sentence}`;
}

/**
 * Where sessions are on, the sentence says how to begin a new one: an earlier message may be the
 * cause.
 */
function apologySentence({ session }: AnsweredRoute, sorry: ApologyFacts, now: number): string {
  const [trigger] = session?.triggers ?? [];
  const wayOut = trigger === undefined ? null : newSessionHint(sorry, trigger);
  return [sentenceOf(sorry, now), ...(wayOut === null ? [] : [wayOut])].join(' ');
}

type ReplyContent = {
  readonly text: string;
  readonly choices: Reply['choices'] | undefined;
  readonly isApology: boolean;
};

function replyOf(
  deps: Deps,
  { channel, brain, session }: AnsweredRoute,
  { message }: AnsweredClaim,
  { text, choices, isApology }: ReplyContent,
  { decision, decidedAt, turnContext }: TurnTimeline,
): Reply {
  const reason = decision.move?.reason ?? 'command';
  const started = reason === 'command' ? null : reason;
  const needsNoNotice = started === null || channel.reportsSessions;
  const replaces = turnContext.shownAs;
  const notice = needsNoNotice ? null : sessionNotice(started, (session?.recallMax ?? 0) > 0);
  return {
    id: deps.ids.reply(),
    inReplyTo: message.id,
    conversation: message.conversation,
    address: message.address,
    brain: brain.name,
    text: notice === null ? text : `${notice}\n\n${text}`,
    createdAt: decidedAt,
    sessionStarted: started,
    ...(choices !== undefined && { choices }),
    ...(replaces !== null && { replaces }),
    ...(isApology && { isApology }),
  };
}

/**
 * The reply as it is, or several parts that share its id with `-00`, `-01`, … at its end. The first
 * part replaces the preview; the last part has the buttons.
 */
export function partsOf(channel: Pick<Channel, 'split'>, reply: Reply): readonly Reply[] {
  const parts = channel.split?.(reply.text);
  const [only] = parts ?? [];
  if (parts === undefined || only === undefined) return [reply];
  if (parts.length === 1) return only.file === undefined ? [reply] : [{ ...reply, ...only }];
  const { choices, replaces, ...common } = reply;
  return parts.map((part, index) => ({
    ...common,
    id: `${reply.id}-${String(index).padStart(2, '0')}` as ReplyId,
    ...part,
    ...(replaces !== undefined && index === 0 && { replaces }),
    ...(choices !== undefined && index === parts.length - 1 && { choices }),
  }));
}
