import { channelName } from '../../../src/channels/registry.ts';
import type { Excerpt, FoundRow, FoundText } from '../../../src/domain/search.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { ChoiceName, type Choice, type ChoiceGroup } from '../../kit/choices.tsx';
import { goTo, hrefOf, type Place } from '../../kit/place.ts';
import { moment, spaced } from '../../kit/words.ts';
import { wordOf } from '../outcome-tone.ts';
import { goToConversation } from '../conversations/go-to-conversation.ts';
import type { Finding } from './finding.ts';
import type { Named } from './names.ts';

/** The results in groups without empty ones; each row links to its page. */
export function groupsOf(names: readonly Named[], { ids, texts }: Finding): readonly ChoiceGroup[] {
  const named = (...kinds: readonly Named['kind'][]): readonly Choice[] =>
    names.filter(({ kind }) => kinds.includes(kind)).map(nameChoice);
  const isLetter = ({ kind }: FoundRow): boolean => kind === 'dead_letter';
  const isPlace = ({ kind, excerpt }: FoundText): boolean =>
    kind === 'conversation' && excerpt === null;
  const groups: readonly ChoiceGroup[] = [
    { title: 'Views', choices: named('view') },
    { title: 'Days', choices: named('day') },
    { title: 'People', choices: named('person') },
    { title: 'Channels, brains and models', choices: named('channel', 'brain', 'model') },
    { title: 'Messages', choices: ids.filter((row) => !isLetter(row)).map(idChoice) },
    { title: 'Conversations', choices: texts.filter(isPlace).map(textChoice) },
    { title: 'Dead letters', choices: ids.filter(isLetter).map(idChoice) },
    { title: 'What was said', choices: texts.filter((row) => !isPlace(row)).map(textChoice) },
  ];
  return groups.filter(({ choices }) => choices.length > 0);
}

function nameChoice({ kind, name, written, place, note = kind }: Named): Choice {
  return {
    key: `${kind} ${written} ${hrefOf(place)}`,
    body: <ChoiceName name={<AsWritten text={name} />} note={kind === 'view' ? '' : note} />,
    run: () => goTo(place),
  };
}

function idChoice(row: FoundRow): Choice {
  const { kind, id, messageId, channel, at, state } = row;
  const where: Place =
    messageId === null
      ? { view: kind === 'dead_letter' ? 'dead-letters' : 'deliveries' }
      : { view: 'message', id: messageId };
  const note = [spaced(kind), channelName(channel), state ?? '', moment(at)]
    .filter(Boolean)
    .join(' · ');
  return {
    key: `${kind} ${id}`,
    body: <ChoiceName name={<code className="wrap-anywhere">{id}</code>} note={note} />,
    run: () => goTo(where),
  };
}

function textChoice(row: FoundText, index: number): Choice {
  const { id, channel, conversation, sender, at, excerpt, outcome, state } = row;
  const ended = state === 'answered' ? outcome : state;
  return {
    key: `text ${id ?? `${channel} ${conversation} ${at} ${index}`}`,
    body: (
      <span className="flex w-full min-w-0 flex-col">
        <span className="min-w-0 wrap-anywhere">
          {excerpt === null ? <AsWritten text={conversation} /> : <Marked excerpt={excerpt} />}
        </span>
        <span className="flex flex-wrap gap-x-2 text-xs text-soft wrap-anywhere">
          {sender === null ? null : <AsWritten text={sender} />}
          {excerpt === null ? null : <AsWritten text={conversation} />}
          <span>{channelName(channel)}</span>
          {ended === null ? null : <span>{wordOf(ended)}</span>}
          <span>{moment(at)}</span>
        </span>
      </span>
    ),
    run: () => {
      if (id === null) void goToConversation({ channel, conversation });
      else goTo({ view: 'message', id });
    },
  };
}

function Marked({ excerpt: { text, hits } }: { readonly excerpt: Excerpt }) {
  const parts = hits.flatMap(({ from, to }, at) => [
    { text: text.slice(hits[at - 1]?.to ?? 0, from), isHit: false, from: -from },
    { text: text.slice(from, to), isHit: true, from },
  ]);
  const rest = text.slice(hits.at(-1)?.to ?? 0);
  return (
    <>
      {parts.map(({ text: part, isHit, from }) =>
        part === '' ? null : isHit ? (
          <mark
            key={from}
            className="rounded-xs bg-wait-ground font-medium text-ink underline forced-colors:text-[MarkText]"
          >
            <AsWritten text={part} lines />
          </mark>
        ) : (
          <AsWritten key={from} text={part} lines />
        ),
      )}
      {rest === '' ? null : <AsWritten text={rest} lines />}
    </>
  );
}
