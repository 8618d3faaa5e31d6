/** The messengers on which people talk in parts, and the configuration of svc for them. */
import { startFakeDiscord } from '../../fake/discord.ts';
import type { Downloads } from '../../fake/downloads.ts';
import { startFakeTelegram } from '../../fake/telegram.ts';
import { people, type File, type Messenger, type Said } from './talk.ts';

export type Platform = Messenger &
  AsyncDisposable & {
    readonly type: 'telegram' | 'discord';
    readonly mode: string;
    readonly url: string;
    readonly token: string;
    readonly downloads: Downloads;
    /** The bot's messages; `at`: milliseconds since 1970. */
    readonly sent: () => readonly { readonly text: string; readonly at: number }[];
    readonly until: (holds: () => boolean, what: string) => Promise<unknown>;
    readonly unconnected: () => Promise<void>;
    /** A disturbance that the platform may cause while svc is down. */
    readonly disturb: () => void;
  };

export async function onTelegram(random: () => number): Promise<Platform> {
  const telegram = await startFakeTelegram({ secondMs: 20, random });
  const chats = names().map((name) => telegram.privateChat(telegram.person(name)));
  const origin = { type: 'hidden_user', sender_user_name: 'Dot', date: 1 };
  const store = ({ mark, bytes }: File) => {
    const file_id = telegram.storeFile(`files/${mark}`, bytes);
    return { file_id, file_unique_id: mark, file_size: bytes.length };
  };
  return {
    type: 'telegram',
    mode: 'polling',
    url: telegram.url,
    token: telegram.token,
    downloads: telegram.downloads,
    hasAlbums: true,
    say({ person, text, files: [file], album, isForward }) {
      const around = {
        ...(album !== null && { media_group_id: `1351${album}` }),
        ...(isForward && { forward_origin: origin }),
      };
      const words = text === '' ? {} : { [file === undefined ? 'text' : 'caption']: text };
      const content = file === undefined ? {} : contentOf(file, store(file));
      telegram.post(chats[person]!, { ...around, ...words, ...content });
    },
    sent: () => telegram.sent,
    until: (holds, what) => telegram.until(() => holds() || undefined, what),
    unconnected: () => telegram.unconnected(),
    disturb() {
      if (telegram.pending === 0 && random() < 0.2) telegram.restartUpdateIds();
    },
    [Symbol.asyncDispose]: () => telegram[Symbol.asyncDispose](),
  };
}

/** https://core.telegram.org/bots/api#message */
function contentOf({ kind }: File, stored: object): object {
  switch (kind) {
    case 'picture':
      return { photo: [{ ...stored, width: 90, height: 90 }] };
    case 'text':
      return { document: { ...stored, file_name: 'list.txt', mime_type: 'text/plain' } };
    case 'voice':
      return { voice: { ...stored, duration: 1, mime_type: 'audio/ogg' } };
    default:
      return kind satisfies never;
  }
}

const types = { picture: 'image/jpeg', text: 'text/plain; charset=utf-8', voice: 'audio/ogg' };
const endings = { picture: 'jpg', text: 'txt', voice: 'ogg' };

/** New sessions have a budget, which this proof does not attack. */
const lostMax = 12;

export async function onDiscord(random: () => number): Promise<Platform> {
  let lost = 0;
  const discord = await startFakeDiscord({ identifyGapMs: 0 });
  const chats = names().map((name) => discord.direct(discord.user(name)));
  // A file's name holds no mark: svc shows the name even without the file.
  const store = ({ kind, bytes }: File) =>
    discord.storeFile(`file.${endings[kind]}`, types[kind], bytes);
  /** https://discord.com/developers/docs/resources/message#message-reference-types */
  const fieldsOf = ({ text, files, isForward }: Said) => {
    const attachments = files.map(store);
    if (!isForward) return { attachments };
    const { id: channel_id } = chats[0]!;
    const message_reference = { type: 1, channel_id, message_id: '1234567890123456789' };
    const message = { type: 0, content: text, attachments, embeds: [], mentions: [] };
    return { message_reference, message_snapshots: [{ message }] };
  };
  return {
    type: 'discord',
    mode: 'gateway',
    url: discord.url,
    token: discord.token,
    downloads: discord.downloads,
    hasAlbums: false,
    say(said) {
      const content = said.isForward ? '' : said.text;
      discord.say(chats[said.person]!, content, { fields: fieldsOf(said) });
    },
    sent: () => discord.sent.map(({ content, at }) => ({ text: content, at })),
    until: (holds, what) => discord.until(() => holds() || undefined, what),
    unconnected: () => discord.unconnected(),
    disturb() {
      if (lost === lostMax || random() >= 0.2) return;
      discord.gateway.plan({ kind: 'invalid-session', resumable: false });
      lost++;
    },
    [Symbol.asyncDispose]: () => discord[Symbol.asyncDispose](),
  };
}

const names = (): string[] => Array.from({ length: people }, (_, person) => `Person ${person}`);
