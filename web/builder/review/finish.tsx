import type { Json } from '../../../src/config/locate.ts';
import { pathOf } from '../../../src/config/edit/path.ts';
import { ToCopy } from '../../kit/to-copy.tsx';
import { useDraft } from '../document/store.ts';
import { valueAt } from '../document/value.ts';

type Props = {
  /** What needs a restart, as paths in the draft. */
  readonly fields: readonly string[];
};

const isOfStorage = (field: string): boolean => /^storage(?:$|\.)/.test(field);

/** What is done at the machine of svc, so that all of the draft is in use. */
export function Finish({ fields }: Props) {
  const document = useDraft((state) => state.document);
  const base = useDraft((state) => state.base);
  const file = base?.file ?? 'svc.json';
  const isShared = base?.place === 'database';
  // Where the database is, each machine has from its own file.
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

/** A block as it stands in the file; a field inside one by its path. */
function lineOf(at: string, value: Json | undefined): string {
  if (value === undefined) return `${at}: take it out`;
  const name = pathOf(at).length === 1 ? JSON.stringify(at) : at;
  return `${name}: ${JSON.stringify(value, null, 2)}`;
}

/** For a shell. */
function quoted(file: string): string {
  return /^[\w./\\:~-]+$/.test(file) ? file : `'${file.replaceAll("'", String.raw`'\''`)}'`;
}
