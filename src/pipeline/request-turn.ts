/**
 * The turn of an API request. The client waits on its own connection, brings the whole conversation
 * along, and gets one answer or an error. svc adds nothing of its memory and keeps none. No request
 * is run twice: when nobody waits any more, the message ends as abandoned.
 */
import type { Brain, Turn } from '../brains/brain.ts';
import type { OpenRequest } from '../channels/channel.ts';
import { picturesMax, type Attachment, type Picture } from '../domain/attachment.ts';
import type { CompletionEnd, GivenConversation, GivenLine } from '../domain/completion.ts';
import type { HistoryLine } from '../domain/conversation.ts';
import type { Abandoned, Decision } from '../domain/decision.ts';
import type { FailureKind } from '../domain/failure.ts';
import { mediaOf, type Media, type Message } from '../domain/message.ts';
import type { Note } from '../domain/note.ts';
import type { Reply } from '../domain/reply.ts';
import { lineOfAttachment, withLines } from '../domain/surroundings.ts';
import { usageOfSteps, type TraceStep } from '../domain/trace.ts';
import { later, msSince } from '../lib/clock.ts';
import type { InClaim } from '../ledger/ledger.ts';
import { readAttachments } from './attachments/reading.ts';
import type { ActiveChannel, ActiveRoute, Deps } from './deps.ts';
import { effectsOfRequest, emptyContext } from './effects.ts';
import { askBrain } from './turn-failure.ts';
import { PipelineTurnContext } from './turn-context.ts';

const hungUp: Abandoned = { kind: 'abandoned', why: 'the client has hung up' };
const stopped: Abandoned = { kind: 'abandoned', why: 'svc stopped, or its configuration changed' };
const forgotten: Abandoned = { kind: 'abandoned', why: 'nobody waits for the answer any more' };

/** ledger (inbox) → brain → ledger (outbox). The claim ends here; it is never given back. */
export async function takeRequest(
  deps: Deps,
  channel: ActiveChannel,
  claim: InClaim,
): Promise<void> {
  const request = channel.channel.openRequest?.(claim.message) ?? null;
  const brain = brainOf(channel, claim.message);
  if (request === null) return abandon(deps, channel, claim);
  if (brain?.name !== request.request.brain) {
    request.fail('stopped');
    return abandon(deps, channel, claim);
  }
  const taken = claim.message.route!;
  const hangUp = (): void => claim.stop.stop();
  request.gone.listen(hangUp);
  if (request.gone.stopped) hangUp();
  try {
    await answerRequest(deps, { ...channel, brain, taken }, claim, request);
  } finally {
    request.gone.unlisten(hangUp);
  }
}

/**
 * The brain that the client named, if the channel still offers it. No other brain ever answers in
 * its place: it could be a public one.
 */
function brainOf({ routes }: ActiveChannel, { route }: Message): Brain | undefined {
  return routes.find(({ brain }) => brain.name === route?.brain)?.brain;
}

/** Ends a message for which nobody waits. */
async function abandon(deps: Deps, channel: ActiveChannel, claim: InClaim): Promise<void> {
  const { message } = claim;
  const now = deps.now();
  const timeline = {
    claimedAt: now,
    decidedAt: now,
    turnContext: emptyContext(message.sensitivity),
  };
  const brain = { name: message.route?.brain ?? '', agent: null };
  const effects = effectsOfRequest(deps, { ...channel, brain }, claim, forgotten, timeline);
  await deps.ledger.complete(claim, effects);
}

async function answerRequest(
  deps: Deps,
  route: ActiveRoute,
  claim: InClaim,
  request: OpenRequest,
): Promise<void> {
  const { message, stop } = claim;
  const { brain } = route;
  const claimedAt = deps.now();
  const since = deps.steady();
  const where = { channel: message.channel, id: message.id, brain: brain.name };
  deps.events.turnStarted({ ...where, waitedMs: msSince(message.acceptedAt, deps) });
  const turnContext = new RequestContext(deps, claim, brain, later(since, brain.deadlineMs));
  if (request.isStream) turnContext.show = shownOn(deps, message, request);
  const end = await decideRequest(deps, route, claim, request, turnContext);
  const isOver = stop.stopped;
  const decision = !isOver ? end.decision : request.gone.stopped ? hungUp : stopped;
  const ms = deps.steady() - since;
  const timeline = { claimedAt, decidedAt: deps.now(), turnContext };
  const effects = effectsOfRequest(deps, route, claim, withWords(decision), timeline);
  const { replies } = effects;
  const why = end.end.kind === 'refused' ? end.end.why : null;
  const whole = why === null ? effects : { ...effects, replies: replies.map(withText(why)) };
  // The reply can be claimed as soon as it is committed, and needs the end then.
  if (!isOver) request.end(end.end);
  const isCompleted = await deps.ledger.complete(claim, whole);
  if (!isCompleted) return request.fail('deleted');
  if (isOver) request.fail('stopped');
  deps.events.turnFinished({ ...where, sender: message.sender, decision, ms });
}

function withText(text: string): (reply: Reply) => Reply {
  return (reply) => ({ ...reply, text });
}

/** Shows the client the growing text. */
function shownOn(
  deps: Pick<Deps, 'events' | 'now' | 'steady'>,
  { channel, acceptedAt }: Message,
  request: OpenRequest,
): (whole: string) => void {
  let isFirst = true;
  return (whole) => {
    if (isFirst && whole !== '') {
      isFirst = false;
      deps.events.firstWord({ channel, ms: msSince(acceptedAt, deps) });
    }
    request.show(whole);
  };
}

/** The decision, and the end of the request as its channel sends it. */
type RequestEnd = { readonly decision: Decision; readonly end: CompletionEnd };

async function decideRequest(
  deps: Deps,
  route: ActiveRoute,
  claim: InClaim,
  { request }: OpenRequest,
  turnContext: RequestContext,
): Promise<RequestEnd> {
  const { message } = claim;
  const beganAt = deps.steady();
  const read = await readPictures(deps, route, message, request.lines, turnContext);
  turnContext.thinksAfterMs = deps.steady() - beganAt;
  const attachments = mediaOf(message).flatMap((media) => read.get(media) ?? []);
  for (const one of attachments) if (one.kind === 'unread') return refused('picture', one.why);
  const { brain: _, lines, newest, ...options } = request;
  const given: GivenConversation = {
    ...options,
    before: lines.slice(0, newest).map((line) => shownLine(line, read)),
    after: lines.slice(newest + 1).map((line) => shownLine(line, read)),
  };
  const turn: Turn = {
    message,
    text: message.text,
    history: [],
    given,
    ...(attachments.length > 0 && { attachments }),
  };
  const decision = await askBrain(deps, route.brain, turn, turnContext);
  const isWithoutTools = request.tools.length > 0 && failedByTools(turnContext.steps);
  if (decision.kind === 'apology' && isWithoutTools) {
    return refused('tools', 'No model of this brain can call tools.', decision);
  }
  return { decision, end: { kind: 'decided', decision, usage: usageOfSteps(turnContext.steps) } };
}

function refused(fault: 'picture' | 'tools', why: string, decision?: Decision): RequestEnd {
  const apology = {
    kind: 'apology',
    apology: 'unseen',
    why: `its ${fault} cannot be used`,
  } as const;
  return { decision: decision ?? apology, end: { kind: 'refused', fault, why } };
}

/**
 * Reads the attachments of the newest message, and the newest pictures of the lines before it, as
 * many as one message may have.
 */
async function readPictures(
  deps: Deps,
  route: ActiveRoute,
  message: Message,
  lines: readonly GivenLine[],
  turnContext: RequestContext,
): Promise<ReadonlyMap<Media, Attachment>> {
  const own = mediaOf(message);
  const files = new Set(own.map(({ file }) => file));
  const all = lines.flatMap((line) => (line.role === 'user' ? line.media : []));
  const earlier = all.filter(({ file }) => !files.has(file)).toReversed();
  const media = [...own, ...earlier.slice(0, Math.max(0, picturesMax - own.length))];
  const read = (await readAttachments(deps, route, message, media, turnContext)) ?? [];
  return new Map(read.map((one, at) => [media[at]!, one]));
}

/** A line with its pictures. A picture that was not read stays as words. */
function shownLine(
  line: GivenLine,
  read: ReadonlyMap<Media, Attachment>,
): GivenConversation['before'][number] {
  if (line.role !== 'user') return line;
  const pictures: Picture[] = [];
  const notices: string[] = [];
  for (const media of line.media) {
    const one = read.get(media);
    if (one?.kind === 'picture') pictures.push(one.picture);
    else notices.push(lineOfAttachment(one ?? unshown(media), false));
  }
  const shown: HistoryLine = { role: 'user', text: withLines(line.text, notices) };
  return pictures.length === 0 ? shown : { ...shown, pictures };
}

function unshown({ reference: name }: Media): Attachment {
  return { kind: 'picture', name, picture: { type: 'image/png', bytes: new Uint8Array() } };
}

const toolFailures: ReadonlySet<'answer' | FailureKind> = new Set([
  'tools_unsupported',
  'tool_refused',
]);

/** Whether each model that was asked failed because of the client's tools. */
function failedByTools(steps: readonly TraceStep[]): boolean {
  const results = steps.flatMap((step) => (step.kind === 'model' ? [step.result] : []));
  return results.length > 0 && results.every((result) => toolFailures.has(result));
}

/** The operator sees why a reply has no text: the client runs tools, or a limit was reached. */
function withWords(end: Decision | Abandoned): Decision | Abandoned {
  if (end.kind !== 'reply' || end.text !== '') return end;
  const calls = end.calls?.map(({ name }) => `[calls ${name}]`);
  return { ...end, text: calls?.join('\n') ?? '[cut off before its first word]' };
}

type ContextArguments = ConstructorParameters<typeof PipelineTurnContext>;

/** The turn context of a request: its agent has no notes, and nobody who could approve a call. */
class RequestContext extends PipelineTurnContext {
  readonly #client: string;

  constructor(...[deps, claim, brain, deadlineAt]: ContextArguments) {
    super(deps, claim, brain, deadlineAt);
    const { channel, sender } = claim.message;
    this.#client = `${channel}\0\0${sender.id}`;
  }

  /** All requests of a client: each repeats its conversation, which providers cache. */
  override get conversation(): string {
    return this.#client;
  }

  override notes(): Promise<readonly Note[]> {
    return Promise.resolve([]);
  }

  override keep(): void {}

  override ask(): Promise<'unread'> {
    return Promise.resolve('unread');
  }
}
