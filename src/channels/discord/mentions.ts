/**
 * Who and what is mentioned in a text
 * (https://discord.com/developers/docs/reference#message-formatting): a person by `<@id>`, or
 * `<@!id>` as it was written before, a role by `<@&id>`, a channel by `<#id>`, a slash command by
 * `</name:id>`. Pure.
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
 * A text as people see it, without an id of what is mentioned: people by name as far as the
 * platform tells the name, roles and channels by a word.
 * @param fields of the message that says it
 */
export function withNames(text: string, fields: Fields): string {
  if (!text.includes('<')) return text;
  return text
    .replace(/<@!?([0-9]{1,20})>/g, (_, id) => {
      const user = mentionsOf(fields).find((one) => one['id'] === id);
      return `@${(user && nameOf(user)) ?? 'someone'}`;
    })
    .replace(/<@&[0-9]{1,20}>/g, '@a role')
    .replace(/<#[0-9]{1,20}>/g, '#a channel')
    .replace(/<(\/[^<>:]{1,100}):[0-9]{1,20}>/g, '$1');
}

function mentionsOf(fields: Fields): readonly Fields[] {
  return listOf(fields['mentions']).map(fieldsOf);
}
