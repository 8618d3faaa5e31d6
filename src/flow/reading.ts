/**
 * What came with a message is read before a brain is asked: fetched from its platform by the
 * channel that took it in, and made into what a model can be shown. What cannot be read is told so,
 * with a sentence for the person.
 */
import { picturesMax, type Attachment } from '../domain/attachment.ts';
import type { ByteSemaphore } from '../lib/byte-semaphore.ts';
import type { Media, Message } from '../domain/message.ts';
import { pause } from '../lib/backoff.ts';
import { earlier, later } from '../lib/clock.ts';
import { Stopper, type Stop } from '../lib/stop.ts';
import { kindOfFile, textIn, textInUntold, type FileKind } from './file-kinds.ts';
import type { TurnDesk } from './desk.ts';
import type { ActiveRoute, Kit } from './kit.ts';
import { unreadSentences as say } from './sentences.ts';

const pictureBytesMax = 8 * 1024 * 1024;
const textBytesMax = 256 * 1024;
const spokenBytesMax = 20 * 1024 * 1024;
/** For all that came with one message. */
const readingMs = 30_000;
/** Of files that are no pictures. */
const filesMax = 4;
const triesMax = 3;
const againMs = 500;

/** What reads the attachments of one message. */
type Reading = {
  readonly route: ActiveRoute;
  readonly message: Message;
  readonly stop: Stop;
  readonly deadlineAt: ReturnType<Kit['steady']>;
  readonly fileBytes: ByteSemaphore;
};

/**
 * Only on a channel that fetches: a sender elsewhere gave an address of their own, which is never
 * asked.
 * @param all that came with it, and with what it replies to
 * @returns undefined: nothing came with it, or nothing on this channel is read
 */
export async function readAttachments(
  kit: Pick<Kit, 'steady' | 'fileBytes'>,
  route: ActiveRoute,
  message: Message,
  all: readonly Media[],
  desk: Pick<TurnDesk, 'stop' | 'deadlineAt'>,
): Promise<readonly Attachment[] | undefined> {
  if (all.length === 0 || route.channel.fetch === undefined) return undefined;
  const deadlineAt = earlier(desk.deadlineAt, later(kit.steady(), readingMs));
  const stop = new Stopper();
  const halt = (): void => stop.stop();
  const timer = setTimeout(halt, Math.max(0, deadlineAt - kit.steady()));
  desk.stop.listen(halt);
  if (desk.stop.stopped) halt();
  try {
    const { fileBytes } = kit;
    const reading = { route, message, stop, deadlineAt, fileBytes };
    return await readAll(reading, all);
  } finally {
    clearTimeout(timer);
    desk.stop.unlisten(halt);
  }
}

async function readAll(reading: Reading, all: readonly Media[]): Promise<readonly Attachment[]> {
  const of = (...kinds: FileKind[]) => all.filter((one) => kinds.includes(kindOfFile(one)));
  const parts = await Promise.all([
    readUpTo(picturesMax, reading, of('picture')),
    readUpTo(filesMax, reading, of('spoken', 'text', 'untold')),
    readUpTo(all.length, reading, of('unknown')),
  ]);
  const read = new Map(parts.flat());
  return asManyPictures(all, (media) => read.get(media)!);
}

/** Files that turn out to be pictures are more of them than places were given to. */
function asManyPictures(
  all: readonly Media[],
  readOf: (media: Media) => Attachment,
): readonly Attachment[] {
  let pictures = 0;
  return all.map((media) => {
    const attachment = readOf(media);
    if (attachment.kind === 'picture') pictures += 1;
    return pictures > picturesMax && attachment.kind === 'picture'
      ? unread(media, say.tooMany)
      : attachment;
  });
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
  const attachment = await reading.fileBytes.within(
    { bytes: media.bytes || bytesMax, whose: whoseOf(reading.message) },
    reading.stop,
    async () => {
      const fetched = await fetch(reading, file, bytesMax);
      if (fetched === 'too_large') return unread(media, tooLarge);
      if (fetched === 'failed') return unread(media, say.notFetched);
      return (await readBytes(reading, kind, media, fetched)) ?? unread(media, say.unknown(media));
    },
  );
  return attachment ?? unread(media, say.notFetched);
}

/** Files of several people are read in turn. */
function whoseOf({ channel, sender }: Message): string {
  return `${channel} ${sender.id}`;
}

const bytesMaxOf: Readonly<Record<Exclude<FileKind, 'unknown'>, number>> = {
  picture: pictureBytesMax,
  text: textBytesMax,
  untold: pictureBytesMax,
  spoken: spokenBytesMax,
};

/** @returns null: it is not what it was said to be */
async function readBytes(
  reading: Reading,
  kind: Exclude<FileKind, 'unknown'>,
  { type, reference: name }: Media,
  bytes: Uint8Array,
): Promise<Attachment | null> {
  const { route, message, stop, deadlineAt } = reading;
  switch (kind) {
    case 'text': {
      const text = textIn(bytes);
      return text === null ? { kind: 'unread', name, why: say.notUtf8 } : { kind, name, text };
    }
    case 'untold': {
      const text = bytes.length > textBytesMax ? null : textInUntold(bytes);
      if (text === null) return await readPicture(reading, name, bytes);
      return { kind: 'text', name, text };
    }
    case 'spoken': {
      const { sensitivity } = message;
      const isPrivate = sensitivity === 'private' || route.brain.sensitivity === 'private';
      const spoken = { bytes, type, name: /\.\w+$/.test(name) ? name : `${name}.ogg` };
      const stamp = isPrivate ? 'private' : 'public';
      const heard = await route.speech?.transcribe(
        { ...spoken, sensitivity: stamp, deadlineAt },
        stop,
      );
      if (heard?.kind === 'heard') return { kind, name, text: heard.text };
      const isEmpty = heard?.failure.kind === 'empty_answer';
      return { kind: 'unread', name, why: isEmpty ? say.notUnderstood : say.notHeard };
    }
    case 'picture':
      return await readPicture(reading, name, bytes);
    default:
      return kind satisfies never;
  }
}

/** @returns null: it is none */
async function readPicture(
  { route, message, stop }: Reading,
  name: string,
  bytes: Uint8Array,
): Promise<Attachment | null> {
  const remade = await route.pictures?.remake(bytes, whoseOf(message), stop);
  switch (remade?.kind) {
    case 'remade':
      return { kind: 'picture', name, picture: remade.picture };
    case 'stopped':
      return { kind: 'unread', name, why: say.notFetched };
    case 'too_large':
      return { kind: 'unread', name, why: say.tooManyPixels };
    case 'unknown':
    case undefined:
      return null;
    default:
      return remade satisfies never;
  }
}

/** What fails for a passing reason is tried again within the time. */
async function fetch(
  { route, stop }: Reading,
  file: string,
  bytesMax: number,
): Promise<Uint8Array | 'too_large' | 'failed'> {
  for (let tries = 1; ; tries++) {
    const fetched = await route.channel.fetch!(file, bytesMax, stop);
    if (fetched.kind === 'fetched') return fetched.bytes;
    if (fetched.kind === 'too_large') return fetched.kind;
    if (!fetched.failure.retryable || tries === triesMax || stop.stopped) return 'failed';
    await pause(againMs * tries, stop.signal);
  }
}
