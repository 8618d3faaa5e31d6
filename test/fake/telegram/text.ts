/**
 * How the server treats the text of a message from a bot. Pages:
 * https://core.telegram.org/bots/api#sendmessage (1-4096 characters after entities parsing),
 * #formatting-options, #messageentity (offsets and lengths in UTF-16 code units). Sources of the
 * error words, and of counting the 4,096 in code points: MessageEntity.cpp and MessageContent.cpp
 * of tdlib/td, Client.cpp of tdlib/telegram-bot-api. The fake parses HTML (b, i, u, s, code, pre,
 * a, blockquote). Of MarkdownV2 it checks only the reserved characters. It does not know the older
 * Markdown.
 */
import { badRequest, textOf, type Entity, type Params, type Refusal } from './wire.ts';
import { jsonOf } from './update-queue.ts';

const charactersMax = 4_096;
const bytesMax = 1 << 15;

export type FormattedText = { readonly text: string; readonly entities: readonly Entity[] };

/** Types that a bot may send; the server silently drops those that it finds by itself. */
const sendable = new Set([
  'bold',
  'italic',
  'underline',
  'strikethrough',
  'spoiler',
  'code',
  'pre',
  'text_link',
  'text_mention',
  'custom_emoji',
  'blockquote',
  'expandable_blockquote',
]);
const found = new Set([
  'mention',
  'hashtag',
  'cashtag',
  'bot_command',
  'url',
  'email',
  'phone_number',
]);

/** The checks before the chat: shape and parse mode. */
export function readText(params: Params): FormattedText | Refusal {
  const text = textOf(params['text']);
  if (text === '') return badRequest('message text is empty');
  if (Buffer.byteLength(text) > bytesMax) return badRequest('text is too long');
  const mode = textOf(params['parse_mode']).toLowerCase();
  if (mode !== '' && mode !== 'none') return parseText(text, mode);
  const listed = params['entities'];
  const list = typeof listed === 'string' ? jsonOf(listed) : listed;
  if (!Array.isArray(list)) return { text, entities: [] };
  const entities: Entity[] = [];
  for (const item of list) {
    const entity = readEntity(item);
    if (typeof entity === 'string') return badRequest(`can't parse MessageEntity: ${entity}`);
    if (entity !== null) entities.push(entity);
  }
  return { text, entities };
}

/** A string is the fault; null: a type that the server finds by itself. */
function readEntity(item: unknown): Entity | null | string {
  if (typeof item !== 'object' || item === null) return 'expected an Object';
  const { type, offset, length } = item as Record<string, unknown>;
  if (offset === undefined) return 'Can\'t find field "offset"';
  if (!Number.isInteger(offset)) return 'Field "offset" must be a valid Number';
  if (length === undefined) return 'Can\'t find field "length"';
  if (!Number.isInteger(length)) return 'Field "length" must be a valid Number';
  if (typeof type !== 'string') return 'Can\'t find field "type"';
  if (found.has(type)) return null;
  if (!sendable.has(type)) return 'Unsupported type specified';
  const entity = item as Entity;
  if (type === 'text_link' && typeof entity.url !== 'string') return 'Can\'t find field "url"';
  return entity;
}

/** The checks before sending: bounds, trimming, length. */
export function fixText({ text, entities }: FormattedText): FormattedText | Refusal {
  for (const { offset, length } of entities) {
    if (offset < 0 || offset > 1_000_000) {
      return badRequest(`receive an entity with incorrect offset ${offset}`);
    }
    if (length < 0 || length > 1_000_000) {
      return badRequest(`receive an entity with incorrect length ${length}`);
    }
  }
  const kept = entities.filter(({ length }) => length > 0);
  for (const { url } of kept) {
    const fault = url === undefined ? null : linkFault(url);
    if (fault !== null) return badRequest(`entity URL '${url}' is invalid: ${fault}`);
  }
  const outside = kept.map((entity) => boundsFault(text, entity)).find((fault) => fault !== null);
  if (outside !== undefined) return badRequest(outside);
  const end = text.trimEnd().length;
  if (end === 0) return badRequest('text must be non-empty');
  const start = text.length - text.trimStart().length;
  const trimmed = text.slice(start, end);
  if (Array.from(trimmed).length > charactersMax) return badRequest('message is too long');
  return { text: trimmed, entities: kept.flatMap((entity) => within(entity, start, end)) };
}

/** The server drops such a link of HTML, and refuses it as an entity (LinkManager.cpp). */
function linkFault(url: string): string | null {
  if (/^(?:tg|ton|tonsite):/i.test(url)) return null;
  const [, scheme = 'http', authority = ''] = /^(?:([^:/?#@[\]]*):\/\/)?([^/?#]*)/.exec(url) ?? [];
  if (!/^https?$/i.test(scheme)) return 'Unsupported URL protocol';
  const host = authority.replace(/^.*@/, '').replace(/:\d*$/, '');
  if (host === '') return 'URL host is empty';
  return host.includes('.') || host.startsWith('[') ? null : 'Wrong HTTP URL';
}

function boundsFault(text: string, { offset, length }: Entity): string | null {
  const end = offset + length;
  if (offset >= text.length) {
    return `entity begins after the end of the text at UTF-16 offset ${offset}`;
  }
  if (splitsPair(text, offset)) {
    const at = Buffer.byteLength(text.slice(0, offset - 1));
    return `entity begins in a middle of a UTF-16 symbol at byte offset ${at}`;
  }
  const entity = `entity beginning at UTF-16 offset ${offset}`;
  if (end > text.length) return `${entity} ends after the end of the text at UTF-16 offset ${end}`;
  if (splitsPair(text, end)) {
    const at = Buffer.byteLength(text.slice(0, end - 1));
    return `${entity} ends in a middle of a UTF-16 symbol at byte offset ${at}`;
  }
  return null;
}

const splitsPair = (text: string, at: number): boolean =>
  /[\uDC00-\uDFFF]/.test(text.charAt(at)) && /[\uD800-\uDBFF]/.test(text.charAt(at - 1));

/** The entity after the white space before `start` and after `end` is cut off. */
function within(entity: Entity, start: number, end: number): Entity[] {
  const from = Math.max(entity.offset, start);
  const to = Math.min(entity.offset + entity.length, end);
  return to > from ? [{ ...entity, offset: from - start, length: to - from }] : [];
}

function parseText(text: string, mode: string): FormattedText | Refusal {
  if (mode === 'html') return parseHtml(text);
  if (mode === 'markdownv2') return checkMarkdown(text);
  if (mode === 'markdown') return { text, entities: [] };
  return badRequest('unsupported parse_mode');
}

function checkMarkdown(text: string): FormattedText | Refusal {
  const reserved = /(?<!\\)[>#+\-=|{}.!]/.exec(text.replaceAll(/`[^`]*`|\|\||\]\([^)]*\)/g, ''));
  if (reserved !== null) {
    return badRequest(
      `can't parse entities: Character '${reserved[0]}' is reserved and must be escaped with ` +
        `the preceding '\\'`,
    );
  }
  return { text: text.replaceAll(/\\(.)/g, '$1'), entities: [] };
}

const tagTypes: Readonly<Record<string, string>> = {
  b: 'bold',
  strong: 'bold',
  i: 'italic',
  em: 'italic',
  u: 'underline',
  ins: 'underline',
  s: 'strikethrough',
  del: 'strikethrough',
  strike: 'strikethrough',
  code: 'code',
  pre: 'pre',
  a: 'text_link',
  blockquote: 'blockquote',
};
const characters: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' };

function parseHtml(source: string): FormattedText | Refusal {
  const fail = (words: string): Refusal => badRequest(`can't parse entities: ${words}`);
  const open: { tag: string; offset: number; url: string | undefined }[] = [];
  const entities: Entity[] = [];
  let text = '';
  const tokens = source.matchAll(/<(\/?)([^\s>]*)([^>]*)>|&(lt|gt|amp|quot);|[^<&]+|[<&]/gs);
  for (const match of tokens) {
    const [token, slash, tagName, rest, character] = match;
    const at = Buffer.byteLength(source.slice(0, match.index));
    if (character !== undefined) text += characters[character] ?? '';
    else if (tagName === undefined) {
      if (token === '<') return fail(`Unclosed start tag at byte offset ${at}`);
      text += token;
    } else if (slash === '') {
      const tag = tagName.toLowerCase();
      if (tagTypes[tag] === undefined) {
        return fail(`Unsupported start tag "${tag}" at byte offset ${at}`);
      }
      const url = /href="([^"]*)"/.exec(rest ?? '')?.[1];
      open.push({ tag, offset: text.length, url });
    } else {
      const last = open.pop();
      if (last === undefined) return fail(`Unexpected end tag at byte offset ${at}`);
      if (last.tag !== tagName.toLowerCase()) {
        const words = `expected "</${last.tag}>", found "</${tagName.toLowerCase()}>"`;
        return fail(`Unmatched end tag at byte offset ${at}, ${words}`);
      }
      const { offset, url } = last;
      const length = text.length - offset;
      const type = tagTypes[last.tag] ?? '';
      if (url !== undefined && linkFault(url) !== null) continue;
      entities.push({ type, offset, length, ...(url !== undefined && { url }) });
    }
  }
  const left = open.at(-1);
  if (left !== undefined) {
    return fail(`Can't find end tag corresponding to start tag "${left.tag}"`);
  }
  return { text, entities };
}
