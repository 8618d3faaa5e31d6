import { useMemo } from 'react';
import { pathOf } from '../../../src/config/edit/path.ts';
import type { JsonObject, Json } from '../../../src/config/locate.ts';
import { Button } from '../../kit/button.tsx';
import { upper } from '../../kit/words.ts';
import { baseDocument, useDraft, type Base } from '../document/store.ts';
import { crumbsOf } from '../outline/tree.ts';
import { apartFrom, type Apart } from './apart.ts';
import { apply, useApplying } from './applying.ts';
import { ToCopy } from '../../kit/to-copy.tsx';
import { valueAt } from '../document/value.ts';

type Props = {
  readonly base: Base;
  /** Paths in the draft of the fields that need a restart. */
  readonly fields: readonly string[];
};

/**
 * Fields that cannot change while svc runs: a button that applies the other changes now, and the
 * remaining steps.
 */
export function NeedsRestart({ base, fields }: Props) {
  const text = useDraft((state) => state.text);
  const document = useDraft((state) => state.document);
  const isSending = useApplying(({ state }) => state.kind === 'sending');
  const apart = useMemo(() => apartFrom(baseDocument(base), text, fields), [base, text, fields]);
  const names = namesOf(fields, document);
  return (
    <div className="flex flex-col gap-2">
      <p>
        {upper(names)} cannot change while svc runs. {describeApart(apart)}
      </p>
      {apart.kind === 'rest' ? (
        <Button
          kind="main"
          className="self-start"
          aria-disabled={isSending}
          onClick={() => void apply({ text: apart.text })}
        >
          Apply the rest; {names} after a restart
        </Button>
      ) : null}
      <details open={apart.kind === 'alone'}>
        <summary className="cursor-pointer">What finishes it, at the machine of svc</summary>
        <div className="pt-2">
          <Finish fields={fields} />
        </div>
      </details>
    </div>
  );
}

function describeApart(apart: Apart): string {
  switch (apart.kind) {
    case 'rest':
      return 'All else can be applied now; that stays as the draft.';
    case 'alone':
      return 'Nothing else is changed.';
    case 'together':
      return `All else cannot run without it: ${apart.problem.message}.`;
    default:
      return apart satisfies never;
  }
}

/** The outline's names for the fields, each once, for use inside a sentence. */
function namesOf(fields: readonly string[], document: JsonObject): string {
  const names = fields.map((field) => {
    const path = pathOf(field);
    const label = crumbsOf(path, document).at(-1)?.label ?? field;
    // The name of a platform or a brain keeps its capitals.
    return path.length > 1 && typeof path[1] === 'number' ? label : label.toLowerCase();
  });
  return [...new Set(names)].join(', ');
}

type FinishProps = {
  /** Paths in the draft of the fields that need a restart. */
  readonly fields: readonly string[];
};

const isOfStorage = (field: string): boolean => /^storage(?:$|\.)/.test(field);

/** The steps on the machine of svc that take the whole draft into use. */
function Finish({ fields }: FinishProps) {
  const document = useDraft((state) => state.document);
  const base = useDraft((state) => state.base);
  const file = base?.file ?? 'svc.json';
  const isShared = base?.place === 'database';
  // Each machine reads the place of the database from its own file.
  const isUsed = isShared && !fields.every(isOfStorage);
  return (
    <ol className="ms-5 flex list-decimal flex-col gap-2">
      {isUsed ? <li>Stop every svc on the database.</li> : null}
      <li>
        In <code className="break-all">{file}</code> on{' '}
        {isShared && !isUsed ? 'each machine of svc' : 'the machine of svc'}, write:
        <ToCopy text={fields.map((at) => lineOf(at, valueAt(document, pathOf(at)))).join('\n')} />
      </li>
      <li>
        {isUsed ? 'Put it into the database:' : 'Check it there:'}
        <ToCopy text={`svc config ${isUsed ? 'use' : 'check'} ${quoted(file)}`} />
      </li>
      <li>{isUsed ? 'Start svc again, on each machine.' : restart}</li>
    </ol>
  );
}

const restart =
  'Restart svc: with systemd by sudo systemctl restart svc; in a terminal by Ctrl-C and the same ' +
  'command as before.';

/** A block as JSON in the file; a field inside a block by its path. */
function lineOf(at: string, value: Json | undefined): string {
  if (value === undefined) return `${at}: take it out`;
  const name = pathOf(at).length === 1 ? JSON.stringify(at) : at;
  return `${name}: ${JSON.stringify(value, null, 2)}`;
}

/** Quotes a file name for a shell. */
function quoted(file: string): string {
  return /^[\w./\\:~-]+$/.test(file) ? file : `'${file.replaceAll("'", String.raw`'\''`)}'`;
}
