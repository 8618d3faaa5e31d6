import { useState } from 'react';
import type { NoteText } from '../../../src/domain/note.ts';
import type { Page } from '../../../src/domain/page.ts';
import type { ConversationText, TurnText } from '../../../src/domain/story.ts';
import { ask, type Refused } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { Refusal } from '../../kit/notice.tsx';
import { pathOf } from './path-of.ts';
import { readRest } from './read-rest.ts';

/** All that is kept of a conversation, as one JSON file. */
export function Export({ conversation }: { readonly conversation: ConversationText }) {
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Refused | null>(null);
  const write = async (): Promise<void> => {
    setBusy(true);
    const read = await everythingOf(conversation);
    setBusy(false);
    if (read.kind === 'refused') return setRefused(read);
    setRefused(null);
    save(`conversation-${conversation.channel.replaceAll(':', '-')}.json`, read.value);
  };
  return (
    <>
      <Refusal refused={refused} />
      <Button small disabled={busy} onClick={() => void write()}>
        {busy ? 'Reading …' : 'Export'}
      </Button>
    </>
  );
}

async function everythingOf(conversation: ConversationText) {
  const path = pathOf(conversation);
  const turns: TurnText[] = [];
  const { signal } = new AbortController();
  const first = await ask<Page<TurnText>>(`conversations/${path}/turns?limit=500`);
  if (first.kind === 'refused') return first;
  const add = ({ rows }: Page<TurnText>): void => void turns.push(...rows);
  add(first.value);
  const failed = await readRest(`conversations/${path}/turns`, first.value.next, signal, add);
  if (failed !== null) return failed;
  const notes = await ask<{ readonly rows: readonly NoteText[] }>(`notes/${path}`);
  if (notes.kind === 'refused') return notes;
  return { kind: 'ok', value: { conversation, turns, notes: notes.value.rows } } as const;
}

function save(name: string, value: unknown): void {
  const blob = new Blob([`${JSON.stringify(value, null, 2)}\n`], { type: 'application/json' });
  const href = URL.createObjectURL(blob);
  const anchor = document.createElement('a');
  anchor.href = href;
  anchor.download = name;
  anchor.click();
  // The browser has begun to read it by the next task.
  setTimeout(() => URL.revokeObjectURL(href));
}
