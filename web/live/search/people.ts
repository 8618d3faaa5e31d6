/** The people that a search can name: those who were let in, and those who wrote lately. */
import { useEffect, useMemo, useState } from 'react';
import { channelName } from '../../../src/channels/registry.ts';
import type { Pairing } from '../../../src/domain/gate.ts';
import { registeredNameOf } from '../../../src/domain/ids.ts';
import { originsMax, type MessageOrigin } from '../../../src/domain/story.ts';
import { ask } from '../../kit/api.ts';
import { useToken } from '../../kit/token.ts';
import { readOrigins, useOrigins } from '../links/origins.ts';
import { conversationPlace } from '../links/places.ts';
import type { Named } from './names.ts';

/** Reads the people when the search opens. Without a sign-in there are none. */
export function usePeople(): readonly Named[] {
  const isOperator = useToken(({ token }) => token !== null);
  const origins = useOrigins();
  const [pairings, setPairings] = useState<readonly Pairing[]>([]);
  useEffect(() => {
    const over = new AbortController();
    const read = async (): Promise<void> => {
      const [messages, admitted] = await Promise.all([
        rowsOf<{ readonly id: string }>(`messages?limit=${originsMax}`, over.signal),
        rowsOf<Pairing>('pairings', over.signal),
      ]);
      if (over.signal.aborted) return;
      setPairings(admitted);
      readOrigins(messages.map(({ id }) => id));
    };
    if (isOperator) void read();
    return () => over.abort();
  }, [isOperator]);
  return useMemo(
    () => (isOperator ? peopleOf([...origins.values()], pairings) : []),
    [isOperator, origins, pairings],
  );
}

/** A person of each conversation, then people without one: they lead to the list of people. */
export function peopleOf(
  origins: readonly (MessageOrigin | null)[],
  pairings: readonly Pairing[],
): readonly Named[] {
  const people = new Map<string, Named>();
  const writers = new Set<string>();
  for (const origin of origins) {
    if (origin === null || origin.sender === null) continue;
    const { channel, conversation, conversationId, sender } = origin;
    const name = channelName(registeredNameOf(channel));
    writers.add(`${registeredNameOf(channel)} ${sender.id}`);
    people.set(`${channel} ${conversation} ${sender.id}`, {
      kind: 'person',
      name: sender.name ?? sender.id,
      written: `${sender.id} ${name}`,
      note: name,
      place: conversationPlace(conversationId),
    });
  }
  for (const { channel, sender, name } of pairings) {
    if (writers.has(`${channel} ${sender}`)) continue;
    people.set(`${channel} ${sender}`, {
      kind: 'person',
      name: name ?? sender,
      written: `${sender} ${channelName(channel)}`,
      note: channelName(channel),
      place: { view: 'people' },
    });
  }
  return [...people.values()];
}

/** Without an answer nobody is found by name; the other results are shown as usual. */
async function rowsOf<Row>(path: string, signal: AbortSignal): Promise<readonly Row[]> {
  const answer = await ask<{ readonly rows: readonly Row[] }>(path, { signal });
  return answer.kind === 'ok' ? answer.value.rows : [];
}
