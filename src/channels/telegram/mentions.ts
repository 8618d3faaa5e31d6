/**
 * Where a text names the bot (https://core.telegram.org/bots/api#messageentity). Offsets count
 * UTF-16 units, as JavaScript's strings do. Pure.
 */
import { object } from './fields.ts';
import type { Bot } from './people.ts';

export type Span = { readonly start: number; readonly end: number };

/** The spans that name the bot; `for_another`: the text begins with a command for another bot. */
export function marksOf(
  body: string,
  entities: unknown,
  bot: Bot,
): readonly Span[] | 'for_another' {
  if (!Array.isArray(entities)) return [];
  const spans: Span[] = [];
  const ours = `@${bot.username.toLowerCase()}`;
  for (const one of entities) {
    const entity = object(one);
    const { offset, length } = (entity ?? {}) as { offset?: unknown; length?: unknown };
    if (entity === null || typeof offset !== 'number' || typeof length !== 'number') continue;
    const end = offset + length;
    const mention = body.slice(offset, end).toLowerCase();
    if (entity['type'] === 'mention' && mention === ours) spans.push({ start: offset, end });
    if (entity['type'] === 'text_mention' && object(entity['user'])?.['id'] === bot.id) {
      spans.push({ start: offset, end });
    }
    const at = mention.indexOf('@');
    if (entity['type'] === 'bot_command' && at >= 0) {
      if (mention.slice(at) === ours) spans.push({ start: offset + at, end });
      else if (offset === 0) return 'for_another';
    }
  }
  return spans;
}

/** Whether the text begins with a command. `marksOf` tells for which bot. */
export function beginsWithCommand(entities: unknown): boolean {
  if (!Array.isArray(entities)) return false;
  return entities.some((one) => {
    const entity = object(one);
    return entity?.['type'] === 'bot_command' && entity['offset'] === 0;
  });
}

/**
 * The text without those spans and the white space that they leave. A text of spans alone stays
 * whole.
 */
export function withoutSpans(body: string, spans: readonly Span[]): string {
  if (spans.length === 0) return body;
  let text = '';
  let from = 0;
  for (const { start, end } of spans) {
    text += body.slice(from, start);
    from = /\s$/.test(text) || text === '' ? skipSpace(body, end) : end;
  }
  text = (text + body.slice(from)).trim();
  return text === '' ? body : text;
}

function skipSpace(body: string, from: number): number {
  let at = from;
  while (at < body.length && /[ \t]/.test(body[at]!)) at++;
  return at;
}
