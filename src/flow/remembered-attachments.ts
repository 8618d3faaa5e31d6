import type { Attachment } from '../domain/attachment.ts';
import { rememberedPicture } from './earlier-pictures.ts';

const rememberedCharactersMax = 4_000;

/** What later turns remember as said: the text, and what svc could make words of. */
export function rememberedOf(text: string, attachments: readonly Attachment[]): string {
  const lines = attachments.map((one) => {
    switch (one.kind) {
      case 'spoken':
        return `[voice message] ${one.text}`;
      case 'text':
        return `[file: ${one.name}]\n${one.text.slice(0, rememberedCharactersMax).toWellFormed()}`;
      case 'picture':
        return rememberedPicture(one.name);
      case 'unread':
        return `[attachment: ${one.name}]`;
      default:
        return one satisfies never;
    }
  });
  return [text, ...lines].filter((line) => line !== '').join('\n');
}
