import { useEffect, useState } from 'react';
import type { Story, StoryText } from '../../../src/domain/story.ts';
import { ask, type Refused } from '../../kit/api.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { Notice, Refusal } from '../../kit/notice.tsx';
import { usePlace } from '../../kit/place.ts';
import { useDraft } from '../document/store.ts';
import { entriesOf, textAt } from '../graph/reading.ts';
import { write } from './trials.ts';

type Brought =
  | { readonly kind: 'asking' | 'nothing' }
  | { readonly kind: 'refused'; readonly refused: Refused }
  | { readonly kind: 'brought'; readonly id: string; readonly brain: string }
  | { readonly kind: 'elsewhere'; readonly id: string; readonly brain: string };

/**
 * Puts the text of the message in the URL into the field of its brain. The page asks the service
 * for the text, and the service records that somebody read it. No URL holds the text.
 */
export function FromMessage() {
  const { message = '' } = usePlace();
  // The URL drops the message as soon as a brain is selected.
  const [id] = useState(message);
  const [brought, setBrought] = useState<Brought>({ kind: id === '' ? 'nothing' : 'asking' });
  useEffect(() => {
    if (id === '') return undefined;
    const leaving = new AbortController();
    const loadText = async (): Promise<void> => {
      const now = await bring(id, leaving.signal);
      if (!leaving.signal.aborted) setBrought(now);
    };
    void loadText();
    return () => leaving.abort();
  }, [id]);
  switch (brought.kind) {
    case 'nothing':
      return null;
    case 'asking':
      return <p className="text-soft">Asking for what was said …</p>;
    case 'refused':
      return <Refusal refused={brought.refused} />;
    case 'brought':
      return (
        <Notice>
          This is what was said in <Message id={brought.id} />; the turns before it are not brought
          along.
        </Notice>
      );
    case 'elsewhere':
      return (
        <Notice tone="wait">
          <Message id={brought.id} /> was answered by the brain <AsWritten text={brought.brain} />,
          which this draft does not have.
        </Notice>
      );
    default:
      return brought satisfies never;
  }
}

function Message({ id }: { readonly id: string }) {
  const place = new URLSearchParams({ view: 'message', id });
  return <a href={`/ui?${place.toString()}`}>message {id}</a>;
}

async function bring(id: string, signal: AbortSignal): Promise<Brought> {
  const path = `messages/${encodeURIComponent(id)}`;
  const story = await ask<Story>(path, { signal });
  if (story.kind === 'refused') return { kind: 'refused', refused: story };
  const said = await ask<StoryText>(`${path}/text`, { signal });
  if (said.kind === 'refused') return { kind: 'refused', refused: said };
  const brain = story.value.trace?.brain ?? '';
  const { document, select } = useDraft.getState();
  const found = entriesOf(document, ['brains']).find(
    ({ value }) => textAt(value, 'name') === brain,
  );
  if (signal.aborted) return { kind: 'nothing' };
  if (found === undefined) return { kind: 'elsewhere', id, brain };
  const { text, sensitivity } = said.value;
  write(brain, { text, isPrivate: sensitivity === 'private' });
  select(['brains', found.index]);
  return { kind: 'brought', id, brain };
}
