/**
 * Reads the attachments of a message before a brain is asked: the channel that took the message in
 * fetches them, and svc makes them into something that a model can be shown. An attachment that
 * cannot be read becomes a sentence for the person.
 */
import {
  picturesMax,
  unreadBy,
  unreadFor,
  type Attachment,
  type ReadingPart,
  type Unread,
} from '../../domain/attachment.ts';
import type { FetchResult } from '../../channels/channel.ts';
import { failure, type Failure, type FailureKind } from '../../domain/failure.ts';
import type { Media, Message } from '../../domain/message.ts';
import { earlier, later, type SteadyTime } from '../../lib/clock.ts';
import { stoppedAfter, type Stop } from '../../lib/stop.ts';
import { kindOfFile, textIn, textInUnlabelled, type FileKind } from './file-types.ts';
import type { PipelineTurnContext } from '../turn-context.ts';
import type { ActiveRoute, Deps } from '../deps.ts';
import { unreadSentences } from '../sentences.ts';
import { strictest } from '../../domain/sensitivity.ts';
import type { Speech } from './speech/speech.ts';
import type { Events } from '../../domain/event.ts';
import { pause } from '../../lib/backoff.ts';

const pictureBytesMax = 8 * 1024 * 1024;
const textBytesMax = 256 * 1024;
const spokenBytesMax = 20 * 1024 * 1024;
/** For all attachments of one message, without the transcription of voice messages. */
const readingMs = 30_000;
/** For files that are not pictures. */
const filesMax = 4;

/** `stop` also comes at `endsAt`. */
type ReadingTime = { readonly stop: Stop; readonly endsAt: SteadyTime };

type ReadingDeps = ReportDeps['deps'] & Pick<Deps, 'steady' | 'fileBytes' | 'spokenBytes'>;

/** The reading of one message's attachments. */
type Reading = ReportDeps & {
  readonly deps: ReadingDeps;
  /** When the first of them was begun. */
  readonly since: SteadyTime;
  readonly route: ActiveRoute;
  /** For everything except voice messages. */
  readonly time: ReadingTime;
  readonly transcriptionTime: ReadingTime;
};

/**
 * Reads attachments only on a channel that fetches: on other channels the sender gives an address,
 * which svc never contacts.
 * @param all the attachments of the message and of the message that it replies to
 * @returns undefined: there are no attachments, or this channel reads none
 */
export async function readAttachments(
  deps: ReadingDeps,
  route: ActiveRoute,
  message: Message,
  all: readonly Media[],
  turnContext: Pick<PipelineTurnContext, 'stop' | 'deadlineAt' | 'addStep'>,
): Promise<readonly Attachment[] | undefined> {
  if (all.length === 0 || route.channel.fetch === undefined) return undefined;
  const since = deps.steady();
  const endsAt = earlier(turnContext.deadlineAt, later(since, readingMs));
  const transcriptionEnd = transcriptionEndsAt(since, turnContext.deadlineAt);
  return stoppedAfter(transcriptionEnd - since, turnContext.stop, (transcriptionStop) =>
    stoppedAfter(endsAt - since, turnContext.stop, (stop) => {
      const time = { stop, endsAt };
      const transcriptionTime = { stop: transcriptionStop, endsAt: transcriptionEnd };
      return readAll({ deps, route, message, turnContext, since, time, transcriptionTime }, all);
    }),
  );
}

async function readAll(reading: Reading, all: readonly Media[]): Promise<readonly Attachment[]> {
  const of = (...kinds: FileKind[]) => all.filter((one) => kinds.includes(kindOfFile(one)));
  const parts = await Promise.all([
    readUpTo(picturesMax, reading, of('picture')),
    readUpTo(filesMax, reading, of('spoken', 'text', 'untold')),
    readUpTo(all.length, reading, of('unknown')),
  ]);
  const read = new Map(parts.flat());
  const inOrder = withoutSurplusPictures(all.map((media) => [media, read.get(media)!] as const));
  return inOrder.map(([media, timed]) => reportRead(reading, media, timed));
}

type ReadMedia = readonly [Media, TimedRead];

/** Drops surplus pictures: files of unknown type may turn out to be pictures. */
function withoutSurplusPictures(all: readonly ReadMedia[]): readonly ReadMedia[] {
  let pictures = 0;
  return all.map(([media, read]) => {
    const isPicture = read.kind === 'read' && read.attachment.kind === 'picture';
    if (isPicture) pictures += 1;
    if (!isPicture || pictures <= picturesMax) return [media, read];
    const { startMs, ms } = read;
    return [media, { ...notRead('picture', 'too_many', unreadSentences.tooMany), startMs, ms }];
  });
}

/** An unreadable file takes no place of another one, but at most twice `most` files are tried. */
async function readUpTo(
  most: number,
  reading: Reading,
  all: readonly Media[],
): Promise<readonly ReadMedia[]> {
  const tried: TimedRead[] = [];
  const triedMax = Math.min(all.length, 2 * most);
  let places = most;
  while (places > 0 && tried.length < triedMax) {
    const next = all.slice(tried.length, Math.min(tried.length + places, triedMax));
    const read = await Promise.all(next.map((media) => readTimed(reading, media)));
    places -= read.filter(({ kind }) => kind === 'read').length;
    tried.push(...read);
  }
  return all.map((media, at) => [media, tried[at] ?? notTried(reading, media)]);
}

async function readTimed(reading: Reading, media: Media): Promise<TimedRead> {
  const { deps, since } = reading;
  const beganAt = deps.steady();
  const read = await readOne(reading, media);
  return { ...read, startMs: beganAt - since, ms: deps.steady() - beganAt };
}

function notTried({ deps, since }: Reading, media: Media): TimedRead {
  const read = notRead(partOf[kindOfFile(media)], 'too_many', unreadSentences.tooMany);
  return { ...read, startMs: deps.steady() - since, ms: 0 };
}

async function readOne(reading: Reading, media: Media): Promise<FileRead> {
  const kind = kindOfFile(media);
  const { file } = media;
  if (kind === 'unknown' || file === undefined) {
    return notRead('other', 'unsupported', unreadSentences.unknown(media));
  }
  const { speech } = reading.route;
  if (kind === 'spoken' && speech === undefined) {
    return notRead('speech', 'not_listened', unreadSentences.notListened);
  }
  const bytesMax = bytesMaxOf[kind];
  const tooLargeSentence =
    kind === 'untold' ? unreadSentences.unknown(media) : unreadSentences.tooLarge(bytesMax);
  const tooLarge = notRead(partOf[kind], 'too_large', tooLargeSentence);
  if ((media.bytes ?? 0) > bytesMax) return tooLarge;
  const isSpoken = kind === 'spoken';
  const { stop } = isSpoken ? reading.transcriptionTime : reading.time;
  const room = isSpoken ? reading.deps.spokenBytes : reading.deps.fileBytes;
  const held = { bytes: media.bytes || bytesMax, whose: personOf(reading.message) };
  const read = await room.within(held, stop, async () => {
    const fetched = await fetch(reading, file, bytesMax, stop);
    if (fetched.kind === 'too_large') return tooLarge;
    if (fetched.kind === 'failed') {
      const why = asTimeout(fetched.failure);
      return failedToRead(
        'download',
        why,
        isRefused(why) ? unreadSentences.notHandedOut : unreadSentences.notFetched,
      );
    }
    return readBytes(reading, kind, media, fetched.bytes);
  });
  return (
    read ??
    notRead('download', 'no_room', isSpoken ? unreadSentences.notHeard : unreadSentences.notFetched)
  );
}

/** Whether sending the file again would change nothing. */
function isRefused({ kind }: Failure): boolean {
  return kind === 'unauthorized' || kind === 'malformed_answer';
}

/** The key by which files of several people take turns. */
function personOf({ channel, sender }: Message): string {
  return `${channel} ${sender.id}`;
}

const bytesMaxOf: Readonly<Record<Exclude<FileKind, 'unknown'>, number>> = {
  picture: pictureBytesMax,
  text: textBytesMax,
  untold: pictureBytesMax,
  spoken: spokenBytesMax,
};

async function readBytes(
  reading: Reading,
  kind: Exclude<FileKind, 'unknown'>,
  media: Media,
  bytes: Uint8Array,
): Promise<FileRead> {
  const { route, message, transcriptionTime } = reading;
  const { reference: name } = media;
  switch (kind) {
    case 'text': {
      const text = textIn(bytes);
      if (text === null) return notRead('text', 'not_utf8', unreadSentences.notUtf8);
      return { kind: 'read', attachment: { kind, name, text } };
    }
    case 'untold': {
      const text = bytes.length > textBytesMax ? null : textInUnlabelled(bytes);
      if (text === null) {
        return readPicture(
          reading,
          media,
          bytes,
          notRead('other', 'unsupported', unreadSentences.unknown(media)),
        );
      }
      return { kind: 'read', attachment: { kind: 'text', name, text } };
    }
    case 'spoken':
      return transcribeVoice(route.speech!, route, message, media, bytes, transcriptionTime);
    case 'picture':
      return readPicture(
        reading,
        media,
        bytes,
        notRead('picture', 'broken', unreadSentences.unknown(media)),
      );
    default:
      return kind satisfies never;
  }
}

/** @param otherwise the result if it is no picture */
async function readPicture(
  { route, message, time }: Reading,
  { reference: name }: Media,
  bytes: Uint8Array,
  otherwise: FileRead,
): Promise<FileRead> {
  const remade = await route.pictures?.remake(bytes, personOf(message), time.stop);
  switch (remade?.kind) {
    case 'remade':
      return { kind: 'read', attachment: { kind: 'picture', name, picture: remade.picture } };
    case 'stopped':
      return failedToRead('picture', failure('timeout'), unreadSentences.notFetched);
    case 'too_large':
      return notRead('picture', 'too_costly', unreadSentences.tooManyPixels);
    case 'unknown':
    case undefined:
      return otherwise;
    default:
      return remade satisfies never;
  }
}

/** Retries temporary failures within the time. */
function fetch(
  { route }: Reading,
  file: string,
  bytesMax: number,
  outer: Stop,
): Promise<FetchResult> {
  return stoppedAfter(readingMs, outer, (stop) =>
    withTries(stop, () => route.channel.fetch!(file, bytesMax, stop)),
  );
}

// Transcribes a voice message by the speech server of its channel.

/** The share of a turn's remaining time; the brain needs the rest for its answer. */
const transcriptionShare = 0.5;

/** Until when attachments of a message may be transcribed. */
function transcriptionEndsAt(now: SteadyTime, deadlineAt: SteadyTime): SteadyTime {
  return later(now, Math.max(0, (deadlineAt - now) * transcriptionShare));
}

/** @param stop also comes at `endsAt` */
async function transcribeVoice(
  speech: Speech,
  { brain }: Pick<ActiveRoute, 'brain'>,
  { sensitivity }: Pick<Message, 'sensitivity'>,
  { type, reference: name }: Media,
  bytes: Uint8Array,
  { stop, endsAt }: { readonly stop: Stop; readonly endsAt: SteadyTime },
): Promise<FileRead> {
  const spoken = {
    bytes,
    type,
    name: /\.\w+$/.test(name) ? name : `${name}.ogg`,
    sensitivity: strictest(sensitivity, brain.sensitivity),
    deadlineAt: endsAt,
  };
  const transcript = await withTries(stop, () => speech.transcribe(spoken, stop));
  if (transcript.kind === 'heard') {
    return { kind: 'read', attachment: { kind: 'spoken', name, text: transcript.text } };
  }
  const why = sentenceOf(transcript.failure.kind);
  return failedToRead('speech', asTimeout(transcript.failure), why);
}

/** Unless the turn itself was stopped, only the time limit cancels. */
function asTimeout(why: Failure): Failure {
  return why.kind === 'cancelled' ? failure('timeout') : why;
}

function sentenceOf(kind: FailureKind): string {
  if (kind === 'empty_answer') return unreadSentences.notUnderstood;
  return kind === 'timeout' || kind === 'cancelled'
    ? unreadSentences.notInTime
    : unreadSentences.notHeard;
}

// The result of reading one file, and its report.

/** `why`: the sentence for the person. */
type FileRead =
  | { readonly kind: 'read'; readonly attachment: Exclude<Attachment, { kind: 'unread' }> }
  | { readonly kind: 'unread'; readonly why: string; readonly unread: Unread };

function notRead(
  part: ReadingPart,
  reason: Parameters<typeof unreadFor>[1],
  why: string,
): FileRead {
  return { kind: 'unread', why, unread: unreadFor(part, reason) };
}

function failedToRead(part: ReadingPart, cause: Failure, why: string): FileRead {
  return { kind: 'unread', why, unread: unreadBy(part, cause) };
}

/** The next step for a file of that kind, once it is fetched. */
const partOf: Readonly<Record<FileKind, ReadingPart>> = {
  picture: 'picture',
  text: 'text',
  untold: 'text',
  spoken: 'speech',
  unknown: 'other',
};

/**
 * `startMs`: when the reading of this file began, counted from the start of the message's first
 * file.
 */
type TimedRead = FileRead & { readonly startMs: number; readonly ms: number };

type ReportDeps = {
  readonly deps: { readonly events: Pick<Events, 'attachmentUnread'> };
  readonly message: Message;
  readonly turnContext: Pick<PipelineTurnContext, 'stop' | 'addStep'>;
};

/** Reports to the operator and the trace. A stopped turn reads again, and reports then. */
function reportRead(
  { deps, message: { channel }, turnContext }: ReportDeps,
  { reference: name }: Media,
  { startMs, ms, ...read }: TimedRead,
): Attachment {
  if (read.kind === 'read') {
    const part = partOf[read.attachment.kind];
    turnContext.addStep({ kind: 'file', part, result: 'read', startMs, ms });
    return read.attachment;
  }
  const { why, unread } = read;
  if (!turnContext.stop.stopped) {
    deps.events.attachmentUnread({ channel, ...unread });
    turnContext.addStep({ kind: 'file', part: unread.part, result: unread.reason, startMs, ms });
  }
  return { kind: 'unread', name, why };
}

const triesMax = 3;
const retryPauseMs = 500;

/** Retries temporary failures until it is stopped. */
async function withTries<End extends { readonly kind: string; readonly failure?: Failure }>(
  stop: Stop,
  act: () => Promise<End>,
): Promise<End> {
  for (let tries = 1; ; tries++) {
    const end = await act();
    if (end.failure?.retryable !== true || tries === triesMax || stop.stopped) return end;
    await pause(retryPauseMs * tries, stop.signal);
  }
}
