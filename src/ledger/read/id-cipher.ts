/**
 * The ids by which people link to conversations. An id is the conversation's key, sealed: nothing
 * is written for it, so each conversation has one, whichever release wrote it, and keeps it for as
 * long as the database keeps its secret. Nobody without that secret can tell a platform's id from
 * it, make one, or see whether two of them are of one person. Construction: the synthetic
 * initialization vector of RFC 5297, with HMAC-SHA-256 in the place of CMAC.
 */
import { nodeCrypto } from '../../lib/node-http.ts';
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { ConversationKey } from '../../domain/story.ts';

/** Where the secret stands among the cursors: no channel has this name. */
export const idCipherPlace = { channel: 'svc', name: 'conversation_seal' } as const;

/** So that neither a path nor a flag takes an id for something else. */
const mark = 'c';
const vectorBytes = 12;
/** All that is sealed is a multiple of this, so that its length tells little. */
const blockBytes = 16;

export class ConversationIdCipher {
  readonly #ofVector: Buffer;
  readonly #ofText: Buffer;

  /** @param secret of the database, as it stands there */
  constructor(secret: string) {
    this.#ofVector = digestOf(secret, 'vector');
    this.#ofText = digestOf(secret, 'text');
  }

  idOf({ channel, conversation }: ConversationKey): string {
    // No channel holds a zero byte, and what JSON escapes is all that UTF-8 cannot hold.
    const text = padded(Buffer.from(`${channel}\0${JSON.stringify(conversation).slice(1, -1)}`));
    const vector = digestOf(this.#ofVector, text).subarray(0, vectorBytes);
    return mark + Buffer.concat([vector, this.#crypt(vector, text)]).toString('base64url');
  }

  /** @returns null: it is no id that this secret made */
  keyOf(id: string): ConversationKey | null {
    const bytes = Buffer.from(id.slice(mark.length), 'base64url');
    const sealed = bytes.length - vectorBytes;
    if (!id.startsWith(mark) || sealed <= 0 || sealed % blockBytes !== 0) return null;
    const vector = bytes.subarray(0, vectorBytes);
    const text = this.#crypt(vector, bytes.subarray(vectorBytes));
    const key = keyIn(text.subarray(0, text.lastIndexOf(0x80)).toString());
    // Whatever is not as it was made seals to something else.
    return key !== null && this.idOf(key) === id ? key : null;
  }

  /** There and back. */
  #crypt(vector: Uint8Array, text: Uint8Array): Buffer {
    const counter = Buffer.concat([vector, Buffer.alloc(blockBytes - vectorBytes)]);
    return nodeCrypto().createCipheriv('aes-256-ctr', this.#ofText, counter).update(text);
  }
}

function digestOf(secret: string | Buffer, of: string | Uint8Array): Buffer {
  return nodeCrypto().createHmac('sha256', secret).update(of).digest();
}

function padded(text: Buffer): Buffer {
  const bytes = Math.ceil((text.length + 1) / blockBytes) * blockBytes;
  const whole = Buffer.alloc(bytes);
  text.copy(whole);
  whole[text.length] = 0x80;
  return whole;
}

function keyIn(text: string): ConversationKey | null {
  const end = text.indexOf('\0');
  if (end === -1) return null;
  try {
    const conversation = JSON.parse(`"${text.slice(end + 1)}"`) as ConversationId;
    return { channel: text.slice(0, end) as ChannelKey, conversation };
  } catch {
    return null;
  }
}
