/**
 * Mentions in a text (https://discord.com/developers/docs/reference#message-formatting): a person
 * by `<@id>`, or by the former `<@!id>`, a role by `<@&id>`, a channel by `<#id>`, a slash command
 * by `</name:id>`. Pure.
 */
import { fieldsOf, listOf, nameOf, textOf, type Fields } from './fields.ts';

/** The text without the bot's own `<@id>`, and otherwise character for character. */
export function withoutMention(text: string, self: string): string {
  const mention = new RegExp(`[ \\t]*<@!?${self}>`, 'g');
  return mention.test(text) ? text.replace(mention, '').trim() : text;
}

/** The mention of the bot as people see it: the text of a reply that says nothing else. */
export function mentionIn(fields: Fields, self: string): string {
  const us = mentionsOf(fields).find((user) => user['id'] === self);
  return us === undefined ? '' : `@${textOf(us['username'])}`;
}

/**
 * A text as people see it, without the ids of mentions. People have their names if the platform
 * reports them; roles and channels become a word.
 * @param fields the message with the text
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
