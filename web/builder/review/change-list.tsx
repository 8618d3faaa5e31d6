import type { Change } from '../../../src/config/changes/changes.ts';

const marks: Readonly<Record<Change['kind'], string>> = {
  added: '+',
  removed: '−',
  changed: '~',
  note: '·',
};
const looks: Readonly<Record<Change['kind'], string>> = {
  added: 'text-good',
  removed: 'text-bad',
  changed: 'text-link',
  note: 'text-soft',
};

type Props = { readonly changes: readonly Change[]; readonly none: string };

/** Changes in words; changes without an effect on the service come last. */
export function ChangeList({ changes, none }: Props) {
  if (changes.length === 0) return <p className="text-soft">{none}</p>;
  const notes = changes.filter(({ kind }) => kind === 'note');
  return (
    <>
      <ul className="divide-y divide-line rounded-md border border-line bg-card">
        {changes
          .filter(({ kind }) => kind !== 'note')
          .map((change) => (
            <Row key={change.text} change={change} />
          ))}
        {notes.map((change) => (
          <Row key={change.text} change={change} />
        ))}
      </ul>
      {notes.length === changes.length ? (
        <p className="text-soft">For the service nothing changes; it reads the file as before.</p>
      ) : null}
    </>
  );
}

function Row({ change: { kind, text, restart } }: { readonly change: Change }) {
  return (
    <li className="flex gap-3 px-3 py-1.5">
      <span aria-hidden="true" className={`w-3 shrink-0 font-mono font-semibold ${looks[kind]}`}>
        {marks[kind]}
      </span>
      <span className={`min-w-0 break-words ${kind === 'note' ? 'text-soft' : ''}`}>
        {text.charAt(0).toUpperCase() + text.slice(1)}
        {restart ? <strong className="ms-2 text-wait">needs a restart</strong> : null}
      </span>
    </li>
  );
}
