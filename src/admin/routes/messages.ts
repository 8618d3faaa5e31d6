import type { AdminPorts } from '../admin.ts';
import { messageIdIn } from '../../domain/ids.ts';
import { originsMax, type Story } from '../../domain/story.ts';
import { found, answerWith } from '../http/answer.ts';
import {
  originsSchema,
  storySchema,
  storyTextSchema,
  foundIdsSchema,
  foundTextsSchema,
  linesSchema,
} from '../schemas/story.ts';
import { segment, unread, readRoute, page, type Parameter, type Route } from './route.ts';
import { idPrefixMin, searchCharactersMax } from '../../domain/search.ts';

const contentType = 'application/json';

function searchAsked(summary: string) {
  const q = { kind: 'text', summary, charactersMax: searchCharactersMax } as const;
  return { q, ...page } satisfies Record<string, Parameter>;
}

/** Search for messages: by id for readers, by words for the operator. */
export function searchRoutes({ reader }: Pick<AdminPorts, 'reader'>): Route[] {
  return [
    readRoute({
      path: '/api/v1/search',
      principal: 'reader',
      summary: 'Messages, replies and dead letters by their ids, without texts, newest first.',
      parameters: searchAsked(`An id, or ${idPrefixMin} or more of its first characters.`),
      contentType,
      problems: unread,
      schema: { name: 'FoundIds', of: foundIdsSchema },
      answer: async ({ q, ...where }) =>
        answerWith(foundIdsSchema, await reader.foundIds(messageIdIn(q ?? ''), where)),
    }),
    readRoute({
      path: '/api/v1/search/texts',
      principal: 'operator',
      summary:
        'Messages by words of texts and answers, by sender, conversation or command, newest ' +
        'first. A page may hold fewer rows than asked for, even none: `next` tells whether it ' +
        'ends.',
      // The audit has only the length of the question, which may be about a person.
      reveals: 'search_texts',
      parameters: searchAsked(
        'Words, each by its beginning; or a command by its name, such as /new.',
      ),
      contentType,
      problems: unread,
      schema: { name: 'FoundTexts', of: foundTextsSchema },
      answer: async ({ q, ...where }) => {
        const words = q ?? '';
        const answer = answerWith(foundTextsSchema, await reader.foundTexts(words, where));
        return { ...answer, auditDetails: { characters: String(words.length) } };
      },
    }),
  ];
}

const parameters = {
  id: segment(
    'The id that the acceptance of the message gave, or that of an answer of the completions API.',
  ),
};
const problems = {
  ...unread,
  404: 'No such message, or it is not known any more.',
};
const unknown = 'No such message is known; what is settled is kept for a while only.';

const messageIdCharacters = 22;
const ofMessages = {
  ids: {
    kind: 'text',
    summary: `The ids of messages with commas between them, at most ${originsMax}.`,
    charactersMax: originsMax * (messageIdCharacters + 1),
  },
} as const satisfies Record<string, Parameter>;

const ofView = {
  view: {
    kind: 'text',
    summary: 'A random name of one load of a page. Only the first request with it is audited.',
    charactersMax: 64,
  },
} as const satisfies Record<string, Parameter>;

/** The story of one message, and the senders and lines of several. */
export function messageRoutes({ reader }: Pick<AdminPorts, 'reader'>): Route[] {
  return [
    readRoute({
      path: '/api/v1/messages/{id}',
      principal: 'reader',
      summary:
        'Everything that happened to one message, without its texts. The operator also sees what ' +
        'a provider said about an error.',
      parameters,
      contentType: 'application/json',
      problems,
      schema: { name: 'Story', of: storySchema },
      answer: async ({ id }, { asker }) => {
        const story = await reader.story(messageIdIn(id));
        return found(storySchema, asker === 'operator' ? story : forReader(story), unknown);
      },
    }),
    readRoute({
      path: '/api/v1/messages/origins',
      principal: 'operator',
      summary: 'Who sent these messages, and in which conversations. No texts.',
      parameters: ofMessages,
      contentType: 'application/json',
      problems: unread,
      schema: { name: 'Origins', of: originsSchema },
      answer: async ({ ids }) => {
        const wanted = ids === null ? [] : ids.split(',');
        return answerWith(originsSchema, { rows: await reader.origins(wanted) });
      },
    }),
    readRoute({
      path: '/api/v1/messages/lines',
      principal: 'operator',
      summary: 'The beginnings of the texts of these messages, each on one line.',
      reveals: 'read_lines',
      revealsOncePer: 'view',
      parameters: { ...ofMessages, ...ofView },
      contentType: 'application/json',
      problems: unread,
      schema: { name: 'Lines', of: linesSchema },
      answer: async ({ ids }) => {
        const wanted = ids === null ? [] : ids.split(',');
        return answerWith(linesSchema, { rows: await reader.lines(wanted) });
      },
    }),
    readRoute({
      path: '/api/v1/messages/{id}/text',
      principal: 'operator',
      summary: 'The texts of one message: also answers not sent, and calls of tools.',
      reveals: 'read_message',
      parameters,
      contentType: 'application/json',
      problems: { ...unread, 404: `${problems[404]} Without storage no text is kept.` },
      schema: { name: 'StoryText', of: storyTextSchema },
      answer: async ({ id }) => {
        const text = await reader.storyText(messageIdIn(id));
        return found(storyTextSchema, text, 'No text is kept of such a message.');
      },
    }),
  ];
}

/** Removes a provider's words, which may name folders, hosts and accounts, and ids of people. */
function forReader(story: Story | null): Story | null {
  if (story === null || story.trace === null) return story;
  const steps = story.trace.steps.map((step) => {
    if (step.kind === 'model' && step.said != null) return { ...step, said: null };
    if (step.kind !== 'route') return step;
    return { ...step, matched: step.matched.map(({ key }) => ({ key, value: null })) };
  });
  return { ...story, trace: { ...story.trace, steps } };
}
