import { routedNameIn } from '../document/channels.ts';
import { useEffect } from 'react';

import type { Path } from '../../../src/config/edit/path.ts';
import { inputLook } from '../../kit/field.tsx';
import { visible } from '../../kit/visible.ts';
import { useDraft } from '../document/store.ts';
import { isList, valueAt, wordOf } from '../document/value.ts';
import { announce } from '../shell/announce.tsx';
import { idOf } from '../shell/going.ts';
import { useValue } from './at.ts';
import { readSeen, useSeen, type Seen } from './seen.ts';
import { keyOf } from './words.tsx';

const words: Readonly<Record<keyof Seen, readonly [label: string, none: string]>> = {
  senders: ['Add a sender who was seen', 'Nobody was seen on this channel yet.'],
  chats: ['Add a chat that was seen', 'No chat was seen on this channel yet.'],
  topics: ['Add a topic that was seen', 'No topic was seen on this channel yet.'],
};

/** Offers the people, chats or topics that svc has seen on the channel of the route. */
export function SeenBefore({ path }: { readonly path: Path }) {
  const key = keyOf(path);
  const channel = useDraft(({ document }) => routedNameIn(valueAt(document, path.slice(0, 2))));
  const isOffered = Object.hasOwn(words, key);
  useEffect(() => {
    if (isOffered) void readSeen(channel);
  }, [channel, isOffered]);
  return isOffered ? <Choice path={path} what={key as keyof Seen} channel={channel} /> : null;
}

type Props = { readonly path: Path; readonly what: keyof Seen; readonly channel: string };

function Choice({ path, what, channel }: Props) {
  const value = useValue(path);
  const seen = useSeen((kept) => (kept.channel === channel ? kept.seen : null));
  const listed = (isList(value) ? value : []).map(wordOf);
  const [label, none] = words[what];
  if (seen === null) return null;
  const offers = seen[what].filter(({ id }) => !listed.includes(id));
  if (offers.length === 0) {
    return listed.length > 0 ? null : <p className="text-sm text-soft">{none}</p>;
  }
  const add = (id: string): void => {
    const draft = useDraft.getState();
    const free = listed.indexOf('');
    const at = free === -1 ? listed.length : free;
    const isDone =
      free !== -1
        ? draft.edit([...path, at], id)
        : isList(value)
          ? draft.insert(path, at, id)
          : draft.edit(path, [id]);
    if (!isDone) return;
    announce(`${id} is added.`);
    // The choice goes away with its last offer, and would take the focus along.
    if (offers.length > 1) return;
    requestAnimationFrame(() => document.getElementById(idOf([...path, at]))?.focus());
  };
  return (
    <select
      aria-label={label}
      value=""
      onChange={({ target }) => add(target.value)}
      className={inputLook}
    >
      <option value="" disabled>
        {label} …
      </option>
      {offers.map((offer) => (
        <option key={offer.id} value={offer.id}>
          {visible(offer.words)}
        </option>
      ))}
    </select>
  );
}
