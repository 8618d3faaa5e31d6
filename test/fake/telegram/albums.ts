/**
 * Photos sent together: a message for each, with the same `media_group_id`. The first has the
 * caption. Page: https://core.telegram.org/bots/api#message.
 */
import type { FakeTelegram } from '../telegram.ts';
import { entitiesIn, type More } from './chats.ts';
import type { Chat, Message } from './wire.ts';

let albums = 0;

/** An album whose parts arrive one by one. */
export class Album {
  readonly #telegram: FakeTelegram;
  readonly #chat: Chat;
  readonly #more: More;
  readonly #id = `1351${++albums}`;
  readonly pieces: Message[] = [];

  constructor(telegram: FakeTelegram, chat: Chat, more: More = {}) {
    this.#telegram = telegram;
    this.#chat = chat;
    this.#more = more;
  }

  photo(caption = ''): Message {
    const entities = entitiesIn(caption);
    const name = `${this.#id}-${this.pieces.length}`;
    const ids = { file_id: `photo-${name}`, file_unique_id: `u-${name}` };
    const message = this.#telegram.post(
      this.#chat,
      {
        media_group_id: this.#id,
        photo: [{ ...ids, width: 90, height: 90, file_size: 1_000 }],
        ...(caption !== '' && { caption }),
        ...(entities.length > 0 && { caption_entities: entities }),
      },
      this.#more,
    );
    this.pieces.push(message);
    return message;
  }
}

/** Sends all photos at once. */
export function postAlbum(
  telegram: FakeTelegram,
  chat: Chat,
  photos: number,
  caption: string,
  more: More = {},
): Album {
  const album = new Album(telegram, chat, more);
  telegram.together(() => {
    for (let at = 0; at < photos; at++) album.photo(at === 0 ? caption : '');
  });
  return album;
}
