/**
 * Delivers one reply: as a new message, as the new text of an existing message, or as a file. One
 * try sends one reply; each part of a cut text is one reply.
 *
 * A refusal that names its cause is repaired in the same try: svc sends again without the refused
 * part, as a new message, or as text. All other failures go to the delivery schedule.
 *
 * A send whose end nobody saw may have arrived. On a platform that does not recognise repeats, svc
 * sends once more, marked as a possible duplicate, when a relay may have come back. Then it stops.
 * A gateway's own answer does not show the end either.
 */
import { failure, type Failure, type FailureKind } from '../../domain/failure.ts';
import { isFirstPart, type Attempt, type DeliveryOutcome, type Reply } from '../../domain/reply.ts';
import { platformWords } from '../../domain/upstream-words.ts';
import { spread } from '../../lib/backoff.ts';
import { rowsOf } from './choices.ts';
import { codeAsMarkdown } from './splitting.ts';
import type {
  CallFault,
  CallResult,
  Meaning,
  Outgoing,
  Platform,
  PlatformKind,
  Refusal,
} from './platform.ts';

/** How long a repaired message waits for its place. Only this try knows the repairs. */
const repairedMsMax = 15_000;
/** The first send, and one more for each thing that svc can repair. */
const triesMax = 8;
/** The pause before the second send after an unseen end: 20 to 60 s. */
const unseenPause = { ms: 40_000, share: 0.5 };
/** How long a try to delete a message takes at most. */
const removeMs = 5_000;

export type DeliveryDeps<T, R extends Refusal> = {
  readonly kind: PlatformKind<T>;
  readonly platform: Platform<T, R>;
  /** The bot's token, which must not leak. */
  readonly token: string;
  readonly random: () => number;
  /** Called with the name of the message that was sent or edited. */
  readonly sent?: (name: string) => void;
};

/** Tries once to deliver one reply. Never throws. */
export async function deliver<T, R extends Refusal>(
  deps: DeliveryDeps<T, R>,
  reply: Reply,
  target: T,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<DeliveryOutcome> {
  const { kind, platform, sent } = deps;
  const outgoing = outgoingOf(kind, reply, target);
  // The key of a preview that may exist: the platform answers with that message.
  let isSearched = outgoing.key !== reply.id;
  for (let tries = 1; ; tries++) {
    const waitMsMax = tries === 1 ? undefined : repairedMsMax;
    const admission = await platform.room.admit(outgoing.target, signal, waitMsMax);
    if (admission.kind === 'later') return { kind: 'paced', pauseMs: admission.ms, asked: null };
    if (admission.kind === 'stopped') return retry(failure('cancelled'));
    const result = await put(platform, outgoing, signal);
    if (result.kind === 'ok') {
      const name = outgoing.edits ?? kind.names.in(result.body, outgoing.target);
      if (isSearched && name !== null && kind.repeats?.isShown(result.body, outgoing) === false) {
        isSearched = false;
        outgoing.key = reply.id;
        if (outgoing.file === null) outgoing.edits = name;
        else await remove(platform, name, signal);
        continue;
      }
      if (name !== null) sent?.(name);
      return { kind: 'delivered' };
    }
    if (result.kind === 'refused') {
      // Discord still recognises the key of a message that is deleted (discord-api-docs#6647).
      if (isSearched && result.status === 404 && result.description !== '') {
        isSearched = false;
        outgoing.key = reply.id;
        continue;
      }
      // After a 429 to a reply the platform takes no other reply either.
      if (result.status === 429 && result.unasked !== true) {
        platform.room.pauseFor(result.retryAfterMs ?? 0);
      }
      if (tries < triesMax && repair(deps, outgoing, result)) continue;
    }
    return outcomeOf(deps, result, reply, outgoing, attempt);
  }
}

/** Tries once to delete the message, in five seconds at most. */
export function remove<T, R extends Refusal>(
  platform: Platform<T, R>,
  name: string,
  signal?: AbortSignal,
): Promise<CallResult<R>> {
  const limit = AbortSignal.timeout(removeMs);
  return platform.remove(name, signal === undefined ? limit : AbortSignal.any([signal, limit]));
}

/** The message that a reply makes there. */
export function outgoingOf<T>(
  { names, repeats, buttons }: PlatformKind<T>,
  { id, text, file, choices, replaces = '' }: Reply,
  target: T,
): Outgoing<T> {
  return {
    target,
    text,
    file: file ?? null,
    isPlain: false,
    buttons: rowsOf(choices, buttons),
    // Only the first part of a cut reply refers to the answered message.
    refers: isFirstPart({ id }),
    edits: file === undefined && names.isAt(replaces, target) ? replaces : null,
    key: repeats?.keyIn(replaces, target) ?? id,
    isPreview: false,
  };
}

/** An edit can be repeated without harm, so its faults report `sent: false`. */
async function put<T, R extends Refusal>(
  platform: Platform<T, R>,
  outgoing: Outgoing<T>,
  signal: AbortSignal,
): Promise<CallResult<R>> {
  if (outgoing.edits === null) return platform.send(outgoing, signal);
  const result = await platform.edit(outgoing.edits, outgoing, signal);
  return result.kind === 'fault' ? { ...result, sent: false } : result;
}

/**
 * Statuses that refuse this one message. Others concern the bot, or are the platform's own trouble.
 */
const messageRefusals: ReadonlySet<number> = new Set([400, 403, 404]);

/** Takes out what was refused: a file becomes text, and an edit becomes a new message. */
function repair<T, R extends Refusal>(
  { kind, platform }: DeliveryDeps<T, R>,
  outgoing: Outgoing<T>,
  refusal: R,
): boolean {
  if (platform.repair?.(outgoing, refusal) === true) return true;
  if (outgoing.file !== null && platform.refusesFile?.(refusal) === true) {
    outgoing.file = null;
    outgoing.text = codeAsMarkdown(outgoing.text, kind.textUnitsMax);
    return true;
  }
  if (outgoing.edits === null || !messageRefusals.has(refusal.status)) return false;
  outgoing.edits = null;
  return true;
}

/**
 * Deletes the message that the reply replaces, if a late edit may still change it. The reply is
 * then sent as a new message. If the message cannot be deleted, svc edits it like any other. Never
 * throws.
 * @returns the reply to send; or an outcome if it cannot be sent now
 */
export async function withoutUnsure<T, R extends Refusal>(
  { kind, platform, token }: DeliveryDeps<T, R>,
  reply: Reply,
  signal: AbortSignal,
): Promise<{ readonly kind: 'ready'; readonly reply: Reply } | DeliveryOutcome> {
  const { replaces, ...rest } = reply;
  const name = replaces === undefined ? null : kind.names.sureOf(replaces);
  if (name === null) return { kind: 'ready', reply };
  const result = await remove(platform, name, signal);
  if (result.kind === 'ok') return { kind: 'ready', reply: rest };
  if (result.kind === 'fault') return retry(failure(result.fault));
  if (messageRefusals.has(result.status)) {
    return { kind: 'ready', reply: { ...reply, replaces: name } };
  }
  return outcomeOfRefusal(platform, result, token, [reply.text]);
}

/** The outcome of the last call of a try. */
function outcomeOf<T, R extends Refusal>(
  { kind, platform, token, random }: DeliveryDeps<T, R>,
  result: R | CallFault,
  reply: Reply,
  { edits, key, text }: Outgoing<T>,
  attempt: Attempt,
): DeliveryOutcome {
  const outcome =
    result.kind === 'fault'
      ? retry(failure(result.fault), result.sent)
      : outcomeOfRefusal(platform, result, token, [reply.text, text]);
  // An edit makes no second message.
  if (outcome.kind !== 'retry' || edits !== null || !isEndUnseen(result)) return outcome;
  const { repeats } = kind;
  const isRecognised = repeats?.recognises(key) === true && !attempt.late;
  // A relay shows its page for as long as its other side is away.
  const mayBeLast = result.kind === 'fault' || result.status === 504;
  if (attempt.possibleDuplicate && mayBeLast && !isRecognised) {
    const detail = `${outcome.failure.detail}; it may have arrived, so it is not sent again`;
    return { kind: 'dead', failure: { ...outcome.failure, detail } };
  }
  if (repeats !== undefined) return { ...outcome, mayHaveArrived: true };
  const retryAfterMs = Math.round(spread(unseenPause.ms, unseenPause.share, random));
  return { kind: 'retry', failure: { ...outcome.failure, retryAfterMs }, mayHaveArrived: true };
}

/** The outcome of a result that needs no repair. */
export function plainOutcome<T, R extends Refusal>(
  { platform, token }: Pick<DeliveryDeps<T, R>, 'platform' | 'token'>,
  result: CallResult<R>,
  { text }: Reply,
): DeliveryOutcome {
  if (result.kind === 'ok') return { kind: 'delivered' };
  if (result.kind === 'fault') return retry(failure(result.fault), result.sent);
  const outcome = outcomeOfRefusal(platform, result, token, [text]);
  const isRetry = outcome.kind === 'retry';
  return isRetry ? { ...outcome, mayHaveArrived: isEndUnseen(result) } : outcome;
}

/**
 * Whether the message may exist, or the edit may still happen. With a 504 a gateway passed the call
 * on, and stopped waiting. With a relay's own page it probably did not, and with a 503 it did not.
 */
export function isEndUnseen(result: CallResult): boolean {
  if (result.kind === 'ok') return false;
  if (result.kind === 'fault') return result.sent && result.fault !== 'cancelled';
  const { status, description } = result;
  return status === 504 || (status >= 500 && status !== 503 && description === '');
}

/** @param sent the texts that the platform's own text must not repeat */
function outcomeOfRefusal<T, R extends Refusal>(
  platform: Platform<T, R>,
  refusal: R,
  token: string,
  sent: readonly string[],
): DeliveryOutcome {
  const { status, retryAfterMs, description } = refusal;
  if (refusal.unasked === true) return { kind: 'paced', pauseMs: retryAfterMs ?? 0, asked: null };
  const said = platformWords(description, token, sent);
  const facts = { status, ...(said !== null && { said }) };
  if (status === 429) {
    const asked = failure('rate_limited', { ...facts, retryAfterMs });
    return { kind: 'paced', pauseMs: retryAfterMs ?? 0, asked };
  }
  const isPage = description === '' && (status === 403 || status === 404);
  const known = isPage ? refusedByPage : platform.meaningOf?.(refusal);
  const meaning = known ?? usualMeaning(status);
  const { kind, isFinal, detail } = meaning;
  const more = { ...facts, ...(detail !== undefined && { detail }) };
  if (isFinal) return { kind: 'dead', failure: failure(kind, more) };
  return retry(failure(kind, { ...more, retryAfterMs }));
}

/**
 * The page of a proxy or a firewall says nothing about the message or its chat, and goes again
 * (discord-api-docs#849).
 */
const refusedByPage: Meaning = {
  kind: 'rejected',
  isFinal: false,
  detail: 'a proxy or a firewall before the platform refused it',
};

function usualMeaning(status: number): { kind: FailureKind; isFinal: boolean; detail?: string } {
  // For example, the token was revoked. Once it is corrected, waiting replies go out.
  if (status === 401) return { kind: 'unauthorized', isFinal: false };
  if (status === 503) return { kind: 'overloaded', isFinal: false };
  if (status >= 500) return { kind: 'server_error', isFinal: false };
  if (status < 400) return { kind: 'redirected', isFinal: false };
  return { kind: 'rejected', isFinal: true };
}

function retry(why: Failure, mayHaveArrived = false): DeliveryOutcome {
  return { kind: 'retry', failure: why, mayHaveArrived };
}
