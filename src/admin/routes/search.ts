import { idPrefixMin, searchCharactersMax } from '../../domain/search.ts';
import type { AdminPorts } from '../admin.ts';
import { tell } from '../http/answer.ts';
import { foundIdsSchema, foundTextsSchema } from '../schemas/search.ts';
import { page, unread } from './parameters.ts';
import { readRoute, type Parameter, type Route } from './route.ts';

const contentType = 'application/json';

function asked(summary: string) {
  const q = { kind: 'text', summary, charactersMax: searchCharactersMax } as const;
  return { q, ...page } satisfies Record<string, Parameter>;
}

/** Finding a message again: by its id for everybody, by what was said in it for the operator. */
export function searchRoutes({ reader }: Pick<AdminPorts, 'reader'>): Route[] {
  return [
    readRoute({
      path: '/api/v1/search',
      principal: 'reader',
      summary: 'Messages, replies and dead letters by their ids, without any text, newest first.',
      parameters: asked(`An id, or ${idPrefixMin} or more of its first characters.`),
      contentType,
      problems: unread,
      schema: { name: 'FoundIds', of: foundIdsSchema },
      answer: async ({ q, ...where }) =>
        tell(foundIdsSchema, await reader.foundIds(q ?? '', where)),
    }),
    readRoute({
      path: '/api/v1/search/texts',
      principal: 'operator',
      summary:
        'Messages by what was said and answered, by sender, conversation or command, newest ' +
        'first. A page may hold fewer rows than asked for, even none: `next` tells whether it ' +
        'ends.',
      // How long the question was is kept, and not what it was: it may be about a person.
      reveals: 'search_texts',
      parameters: asked('Words, each by its beginning; or a command by its name, such as /new.'),
      contentType,
      problems: unread,
      schema: { name: 'FoundTexts', of: foundTextsSchema },
      answer: async ({ q, ...where }) => {
        const words = q ?? '';
        const answer = tell(foundTextsSchema, await reader.foundTexts(words, where));
        return { ...answer, told: { characters: String(words.length) } };
      },
    }),
  ];
}
