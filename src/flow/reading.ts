/**
 * What came with a message is read before a brain is asked: fetched from its platform by the
 * channel that took it in, and made into what a model can be shown. What cannot be read is told so,
 * with a sentence for the person.
 */
import { picturesMax, type Attachment } from '../domain/attachment.ts';
import { mediaOf, type Media, type Message } from '../domain/message.ts';
import { earlier, later, type SteadyTime } from '../lib/clock.ts';
import { stoppedAfter, type Stop } from '../lib/stop.ts';
import { kindOfFile, textIn, textInUntold, type FileKind } from './file-kinds.ts';
import type { TurnDesk } from './desk.ts';
import { hear, hearingEndsAt } from './hearing.ts';
import type { ActiveRoute, Kit } from './kit.ts';
import { withTries } from './reading-tries.ts';
import { unreadSentences as say } from './sentences.ts';

const pictureBytesMax = 8 * 1024 * 1024;
const textBytesMax = 256 * 1024;
const spokenBytesMax = 20 * 1024 * 1024;
/** For all that came with one message, less the time in which a voice message is written down. */
const readingMs = 30_000;
/** Of files that are no pictures. */
const filesMax = 4;

/** `stop` is said at `endsAt` as well. */
type ReadingTime = { readonly stop: Stop; readonly endsAt: SteadyTime };

/** What reads the attachments of one message. */
type Reading = {
  readonly kit: Pick<Kit, 'steady' | 'fileBytes' | 'spokenBytes'>;
  readonly route: ActiveRoute;
  readonly message: Message;
  /** For all but what is spoken. */
  readonly time: ReadingTime;
  readonly hearingTime: ReadingTime;
};

/**
 * Only on a channel that fetches: a sender elsewhere gave an address of their own, which is never
 * asked.
 * @returns undefined: nothing came with it, or nothing on this channel is read
 */
export async function readAttachments(
  kit: Pick<Kit, 'steady' | 'fileBytes' | 'spokenBytes'>,
  route: ActiveRoute,
  message: Message,
  desk: Pick<TurnDesk, 'stop' | 'deadlineAt'>,
): Promise<readonly Attachment[] | undefined> {
  const all = mediaOf(message);
  if (all.length === 0 || route.channel.fetch === undefined) return undefined;
  const now = kit.steady();
  const endsAt = earlier(desk.deadlineAt, later(now, readingMs));
  const heardAt = hearingEndsAt(now, desk.deadlineAt);
  return stoppedAfter(heardAt - now, desk.stop, (hearing) =>
    stoppedAfter(endsAt - now, desk.stop, (stop) => {
      const time = { stop, endsAt };
      const hearingTime = { stop: hearing, endsAt: heardAt };
      return readAll({ kit, route, message, time, hearingTime }, all);
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
  return all.map((media) => read.get(media)!);
}

/** What cannot be read takes no place of another, but no more than twice `most` are tried. */
async function readUpTo(
  most: number,
  reading: Reading,
  all: readonly Media[],
): Promise<readonly (readonly [Media, Attachment])[]> {
  const tried: Attachment[] = [];
  const triedMax = Math.min(all.length, 2 * most);
  let places = most;
  while (places > 0 && tried.length < triedMax) {
    const next = all.slice(tried.length, Math.min(tried.length + places, triedMax));
    const attachments = await Promise.all(next.map((media) => readOne(reading, media)));
    places -= attachments.filter(({ kind }) => kind !== 'unread').length;
    tried.push(...attachments);
  }
  return all.map((media, at) => [media, tried[at] ?? unread(media, say.tooMany)] as const);
}

function unread({ reference: name }: Media, why: string): Attachment {
  return { kind: 'unread', name, why };
}

async function readOne(reading: Reading, media: Media): Promise<Attachment> {
  const kind = kindOfFile(media);
  const { file } = media;
  if (kind === 'unknown' || file === undefined) return unread(media, say.unknown(media));
  const { speech } = reading.route;
  if (kind === 'spoken' && speech === undefined) return unread(media, say.notListened);
  const bytesMax = bytesMaxOf[kind];
  const tooLarge = kind === 'untold' ? say.unknown(media) : say.tooLarge(bytesMax);
  if ((media.bytes ?? 0) > bytesMax) return unread(media, tooLarge);
  const isSpoken = kind === 'spoken';
  const { stop } = isSpoken ? reading.hearingTime : reading.time;
  const room = isSpoken ? reading.kit.spokenBytes : reading.kit.fileBytes;
  const held = { bytes: media.bytes || bytesMax, whose: whoseOf(reading.message) };
  const attachment = await room.within(held, stop, async () => {
    const fetched = await fetch(reading, file, bytesMax, stop);
    if (fetched === 'too_large') return unread(media, tooLarge);
    if (fetched === 'failed') return unread(media, say.notFetched);
    return (await readBytes(reading, kind, media, fetched)) ?? unread(media, say.unknown(media));
  });
  return attachment ?? unread(media, isSpoken ? say.notHeard : say.notFetched);
}

/** Files of several people are read in turn. */
function whoseOf({ channel, sender }: Message): string {
  return `${channel} ${sender.id}`;
}

const bytesMaxOf: Readonly<Record<Exclude<FileKind, 'unknown'>, number>> = {
  picture: pictureBytesMax,
  text: textBytesMax,
  untold: textBytesMax,
  spoken: spokenBytesMax,
};

/** @returns null: it is not what it was said to be */
async function readBytes(
  { route, message, time, hearingTime }: Reading,
  kind: Exclude<FileKind, 'unknown'>,
  media: Media,
  bytes: Uint8Array,
): Promise<Attachment | null> {
  const { reference: name } = media;
  switch (kind) {
    case 'text': {
      const text = textIn(bytes);
      return text === null ? { kind: 'unread', name, why: say.notUtf8 } : { kind, name, text };
    }
    case 'untold': {
      const text = textInUntold(bytes);
      return text === null ? null : { kind: 'text', name, text };
    }
    case 'spoken':
      return hear(route.speech!, route, message, media, bytes, hearingTime);
    case 'picture': {
      const remade = await route.pictures?.remake(bytes, whoseOf(message), time.stop);
      if (remade?.kind === 'remade') return { kind, name, picture: remade.picture };
      if (remade?.kind === 'stopped') return { kind: 'unread', name, why: say.notFetched };
      return remade?.kind === 'too_large' ? { kind: 'unread', name, why: say.tooManyPixels } : null;
    }
    default:
      return kind satisfies never;
  }
}

async function fetch(
  { route }: Reading,
  file: string,
  bytesMax: number,
  outer: Stop,
): Promise<Uint8Array | 'too_large' | 'failed'> {
  const fetched = await stoppedAfter(readingMs, outer, (stop) =>
    withTries(stop, () => route.channel.fetch!(file, bytesMax, stop)),
  );
  return fetched.kind === 'fetched' ? fetched.bytes : fetched.kind;
}
