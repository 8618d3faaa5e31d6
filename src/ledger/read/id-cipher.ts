/**
 * The ids with which links name conversations. An id is the encrypted key of its conversation, so
 * none is stored. Every release gives a conversation the same id, as long as the database keeps its
 * secret. Without the secret nobody can read a platform's id from it or make an id. Nor can anyone
 * see whether two ids belong to one person. Construction: the synthetic initialization vector of
 * RFC 5297, with HMAC-SHA-256 in the place of CMAC.
 */
import { nodeCrypto } from '../../lib/node-http.ts';
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { ConversationKey } from '../../domain/story.ts';

/** The cursor that holds the secret. No channel has this name. */
export const idCipherPlace = { channel: 'svc', name: 'conversation_seal' } as const;

/** Begins every id, so that neither a path nor a flag mistakes it for something else. */
const prefix = 'c';
const vectorBytes = 12;
/** Texts are padded to a multiple of this length, so that the length of an id reveals little. */
const blockBytes = 16;

export class ConversationIdCipher {
  readonly #ofVector: Buffer;
  readonly #ofText: Buffer;

  /** @param secret the secret of the database, as stored */
  constructor(secret: string) {
    this.#ofVector = digestOf(secret, 'vector');
    this.#ofText = digestOf(secret, 'text');
  }

  idOf({ channel, conversation }: ConversationKey): string {
    // A channel key holds no zero byte. JSON escapes everything that UTF-8 cannot hold.
    const text = padded(Buffer.from(`${channel}\0${JSON.stringify(conversation).slice(1, -1)}`));
    const vector = digestOf(this.#ofVector, text).subarray(0, vectorBytes);
    return prefix + Buffer.concat([vector, this.#crypt(vector, text)]).toString('base64url');
  }

  /** @returns null: this secret did not make the id */
  keyOf(id: string): ConversationKey | null {
    const bytes = Buffer.from(id.slice(prefix.length), 'base64url');
    const sealed = bytes.length - vectorBytes;
    if (!id.startsWith(prefix) || sealed <= 0 || sealed % blockBytes !== 0) return null;
    const vector = bytes.subarray(0, vectorBytes);
    const text = this.#crypt(vector, bytes.subarray(vectorBytes));
    const key = keyIn(text.subarray(0, text.lastIndexOf(0x80)).toString());
    // A changed text gives another id.
    return key !== null && this.idOf(key) === id ? key : null;
  }

  /** Encrypts and decrypts. */
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
