import { useMemo, useState } from 'react';
import type { JsonObject } from '../../../src/config/locate.ts';
import { Ago } from '../../kit/ago.tsx';
import { Button } from '../../kit/button.tsx';
import { Notice } from '../../kit/notice.tsx';
import { some } from '../../kit/words.ts';
import { baseDocument, useDraft, type Base } from '../document/store.ts';
import { isObject } from '../../../src/lib/json.ts';
import { settle } from './applying.ts';
import { changesOf } from '../../../src/config/changes/changes.ts';
import { mergeThree, type Conflict, type Side } from './merge.ts';
import { rewrite } from './rewrite.ts';
import type { Value } from '../../../src/config/changes/entries.ts';

/**
 * Somebody else applied a configuration since the draft began. The person chooses between the two.
 */
export function ConflictChoice({ theirs }: { readonly theirs: Base }) {
  const base = useDraft((state) => state.base);
  const text = useDraft((state) => state.text);
  const readable = useDraft((state) => state.readable);
  const [merging, setMerging] = useState(false);
  if (base === null) return null;
  const changes = changesOf(baseDocument(base), baseDocument(theirs));
  const isClean = text === base.text;
  return (
    <Notice tone="wait">
      <h2 className="font-semibold">
        Somebody else changed the configuration <Ago at={theirs.usedAt} />
      </h2>
      <p>
        {isClean
          ? 'You have changed nothing that is not in use. '
          : 'Your draft began before that. '}
        They changed:
      </p>
      <ul className="my-1 ms-5 list-disc">
        {changes.map((one) => (
          <li key={one.text}>{one.text}</li>
        ))}
        {changes.length === 0 ? <li>nothing but the layout of the file</li> : null}
      </ul>
      <div className="mt-2 flex flex-wrap gap-2">
        {isClean ? null : (
          <>
            <Button kind="main" disabled={!readable} onClick={() => setMerging(true)}>
              Put both together
            </Button>
            <Button onClick={() => settle(theirs, text)}>Keep mine over theirs</Button>
          </>
        )}
        <Button onClick={() => settle(theirs, theirs.text)}>
          {isClean ? 'Show theirs' : 'Take theirs, drop my draft'}
        </Button>
      </div>
      <p className="mt-1 text-sm text-soft">
        Nothing is applied by this, and each can be undone until you leave the page.
      </p>
      {merging && !isClean ? <Merging base={base} theirs={theirs} /> : null}
    </Notice>
  );
}

function Merging({ base, theirs }: { readonly base: Base; readonly theirs: Base }) {
  const mine = useDraft((state) => state.document);
  const [picks, setPicks] = useState<ReadonlyMap<string, Side>>(new Map());
  const { document, conflicts } = useMemo(
    () => mergeThree(baseDocument(base), mine, baseDocument(theirs), picks),
    [base, theirs, mine, picks],
  );
  const open = conflicts.filter(({ path }) => !picks.has(path)).length;
  const pick = (path: string, side: Side): void => setPicks(new Map(picks).set(path, side));
  return (
    <div className="mt-3 flex flex-col gap-3 border-t border-line pt-3">
      <p>
        {conflicts.length === 0
          ? 'Your changes and theirs are of different things: they go together.'
          : `${some(conflicts.length, 'place', 'places')} changed by both: choose for each.`}
      </p>
      {conflicts.map((conflict) => (
        <Pick
          key={conflict.path}
          conflict={conflict}
          picked={picks.get(conflict.path) ?? null}
          onPick={(side) => pick(conflict.path, side)}
        />
      ))}
      <Button
        kind="main"
        className="self-start"
        disabled={open > 0}
        onClick={() => settle(theirs, rewrite(theirs.text, objectOf(document)))}
      >
        {open > 0 ? `${open} to choose yet` : 'Make it the draft'}
      </Button>
    </div>
  );
}

function objectOf(document: Value): JsonObject {
  return isObject(document) ? document : {};
}

type PickProps = {
  readonly conflict: Conflict;
  readonly picked: Side | null;
  readonly onPick: (side: Side) => void;
};

function Pick({ conflict, picked, onPick }: PickProps) {
  const { path, base, mine, theirs } = conflict;
  return (
    <fieldset className="rounded-md border border-edge bg-card p-3">
      <legend className="px-1 font-medium">{path}</legend>
      <p className="text-sm text-soft">
        It was <Said value={base} />.
      </p>
      {(['mine', 'theirs'] as const).map((side) => (
        <label key={side} className="flex items-start gap-2 py-0.5">
          <input
            type="radio"
            name={path}
            className="mt-1.5"
            checked={picked === side}
            onChange={() => onPick(side)}
          />
          <span>
            {side === 'mine' ? 'Mine: ' : 'Theirs: '}
            <Said value={side === 'mine' ? mine : theirs} />
          </span>
        </label>
      ))}
    </fieldset>
  );
}

function Said({ value }: { readonly value: Value }) {
  if (value === undefined) return <em>not there</em>;
  // A whole brain is shown over several lines.
  const text = JSON.stringify(value, null, isObject(value) ? 2 : 0);
  return <code className="break-all whitespace-pre-wrap">{text}</code>;
}
