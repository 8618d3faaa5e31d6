/**
 * Who is mentioned in a text (https://discord.com/developers/docs/reference#message-formatting):
 * `<@id>`, or `<@!id>` as it was written before. Pure.
 */
import { fieldsOf, listOf, nameOf, textOf, type Fields } from './fields.ts';

/** The text without `<@id>` of ours, and otherwise character for character. */
export function withoutMention(text: string, self: string): string {
  const mention = new RegExp(`[ \\t]*<@!?${self}>`, 'g');
  return mention.test(text) ? text.replace(mention, '').trim() : text;
}

/** The mention alone, as it is shown: all that is said about what is replied to. */
export function mentionIn(fields: Fields, self: string): string {
  const us = mentionsOf(fields).find((user) => user['id'] === self);
  return us === undefined ? '' : `@${textOf(us['username'])}`;
}

/**
 * A text as people see it: by name who is mentioned, as far as the platform tells the name. Roles
 * and channels stay numbers.
 * @param fields of the message that says it
 */
export function withNames(text: string, fields: Fields): string {
  if (!text.includes('<@')) return text;
  return text.replace(/<@!?([0-9]{1,20})>/g, (mention, id) => {
    const user = mentionsOf(fields).find((one) => one['id'] === id);
    const name = user === undefined ? null : nameOf(user);
    return name === null ? mention : `@${name}`;
  });
}

function mentionsOf(fields: Fields): readonly Fields[] {
  return listOf(fields['mentions']).map(fieldsOf);
}
