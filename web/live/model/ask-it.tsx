import { useEffect, useRef, useState } from 'react';
import type { ConfigInUse } from '../../../src/config/config-control.ts';
import type { TryResult } from '../../../src/admin/config-trials.ts';
import { ask, longLimitMs, type Refused } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { LongText } from '../../kit/long-text.tsx';
import { Notice, Refusal } from '../../kit/notice.tsx';
import { useNow } from '../../kit/use-now.ts';
import { lasted, length } from '../../kit/words.ts';
import { askingAlone } from './in-config.ts';
import type { QuestionResult } from './verdict.ts';

type Props = {
  readonly name: string;
  readonly onHeard: (heard: QuestionResult) => void;
};

type Asking =
  | { readonly kind: 'idle' }
  | { readonly kind: 'asking'; readonly since: number }
  | { readonly kind: 'answered'; readonly text: string; readonly ms: number }
  | { readonly kind: 'failed' }
  | { readonly kind: 'refused'; readonly refused: Refused };

const text = 'Say hello in one short sentence.';

/** Sends a real question to this model alone. svc delivers and stores nothing of it. */
export function AskIt({ name, onHeard }: Props) {
  const [asking, setAsking] = useState<Asking>({ kind: 'idle' });
  const under = useRef<AbortController | null>(null);
  useEffect(() => () => under.current?.abort(), []);
  const isUnderWay = asking.kind === 'asking';
  const begin = async (): Promise<void> => {
    const stop = new AbortController();
    under.current = stop;
    setAsking({ kind: 'asking', since: Date.now() });
    const outcome = await askAlone(name, stop.signal);
    if (stop.signal.aborted) return;
    setAsking(outcome);
    if (outcome.kind === 'answered') onHeard({ at: Date.now(), result: 'answer' });
    if (outcome.kind === 'failed') onHeard({ at: Date.now(), result: outcome.failure });
  };
  const end = (): void => {
    under.current?.abort();
    setAsking({ kind: 'idle' });
  };
  return (
    <div className="flex flex-col gap-3">
      <p className="max-w-prose text-soft">
        A short question goes to this model alone, and what it says is shown here and kept nowhere.
        A hosted model may cost a little.
      </p>
      <Button
        kind={isUnderWay ? 'plain' : 'main'}
        className="self-start"
        onClick={() => (isUnderWay ? end() : void begin())}
      >
        {isUnderWay ? 'Stop asking' : 'Ask it now'}
      </Button>
      <div aria-live="polite" className="flex flex-col gap-2 empty:hidden">
        <AnswerView asking={asking} />
      </div>
    </div>
  );
}

function AnswerView({ asking }: { readonly asking: Asking }) {
  switch (asking.kind) {
    case 'idle':
      return null;
    case 'asking':
      return <UnderWay since={asking.since} />;
    case 'answered':
      return (
        <>
          <p>It answered within {length(asking.ms)}:</p>
          <blockquote className="rounded-md border-s-4 border-good bg-good-ground px-3 py-2">
            <LongText text={asking.text} name="What it said" />
          </blockquote>
        </>
      );
    case 'failed':
      return <Notice tone="bad">It did not answer. What to do stands above.</Notice>;
    case 'refused':
      return <Refusal refused={asking.refused} />;
    default:
      return asking satisfies never;
  }
}

const longMs = 5_000;

function UnderWay({ since }: { readonly since: number }) {
  const now = useNow();
  return (
    <div className="rounded-md border-s-4 border-wait bg-wait-ground px-3 py-2">
      <p>It is asked …</p>
      {now - since < longMs ? null : <p>A first answer loads the model, which may take minutes.</p>}
      <p aria-hidden="true" className="text-sm text-soft">
        {lasted(since, now)}
      </p>
    </div>
  );
}

type Alone =
  | Extract<Asking, { readonly kind: 'answered' | 'refused' }>
  | { readonly kind: 'failed'; readonly failure: Exclude<QuestionResult['result'], 'answer'> };

async function askAlone(name: string, signal: AbortSignal): Promise<Alone> {
  const inUse = await ask<ConfigInUse>('config', { signal });
  if (inUse.kind === 'refused') return { kind: 'refused', refused: inUse };
  const alone = askingAlone(inUse.value.text, name);
  if (alone === null) return { kind: 'refused', refused: gone };
  const body = { ...alone, text };
  const question = { method: 'POST', body, signal, limitMs: longLimitMs } as const;
  const answer = await ask<TryResult>('config/try', question);
  if (answer.kind === 'refused') return { kind: 'refused', refused: answer };
  const [row] = answer.value.answers;
  if (row?.kind === 'answer') {
    return { kind: 'answered', text: row.text ?? '', ms: row.ms ?? answer.value.ms };
  }
  return { kind: 'failed', failure: row?.failure?.kind ?? 'fault' };
}

const gone: Refused = {
  kind: 'refused',
  status: 0,
  code: 'gone',
  detail: 'The configuration has been changed since: it has no such model any more.',
  extra: {},
};
