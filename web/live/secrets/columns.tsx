import type { SecretRow } from '../../../src/admin/secret-control.ts';
import { Button } from '../../kit/button.tsx';
import { SourceBadge } from '../../kit/secret-source.tsx';
import { State } from '../../kit/state.tsx';
import type { Column } from '../../kit/table.tsx';

type OnDo = (what: 'set' | 'remove', row: SecretRow) => void;

export const columnsWith = (onDo: OnDo): readonly Column<SecretRow>[] => [
  { title: 'Variable', cell: ({ name }) => <code className="wrap-anywhere">{name}</code> },
  { title: 'Where', cell: (row) => <Where row={row} /> },
  {
    title: 'Named by',
    cell: ({ usedAt }) =>
      usedAt.length === 0 ? (
        <span className="text-soft">nothing in the configuration in use</span>
      ) : (
        <ul>
          {usedAt.map((path) => (
            <li key={path}>
              <code className="wrap-anywhere">{path}</code>
            </li>
          ))}
        </ul>
      ),
  },
  { title: 'Change', cell: (row) => <Change row={row} onDo={onDo} /> },
];

function Where({ row: { source, inKeychain, restart } }: { readonly row: SecretRow }) {
  return (
    <>
      <SourceBadge source={source} />
      {restart ? (
        <p>
          <State tone="wait">needs a restart</State>: the keychain has a newer value.
        </p>
      ) : null}
      {inKeychain && source !== 'keychain' && !restart ? (
        <p className="text-soft">The keychain has one too; it does not count.</p>
      ) : null}
      {!inKeychain && source === 'keychain' ? (
        <p>
          <State tone="wait">removed</State>: svc has it until it ends, and does not start without
          it.
        </p>
      ) : null}
    </>
  );
}

function Change({ row, onDo }: { readonly row: SecretRow; readonly onDo: OnDo }) {
  const { name, inKeychain, usedAt } = row;
  if (usedAt.includes('admin.token_env')) {
    return <span className="text-soft">by hand: it opens this page</span>;
  }
  const word = inKeychain ? 'Replace' : 'Set';
  return (
    <span className="flex flex-wrap gap-1">
      <Button small aria-label={`${word} ${name}`} onClick={() => onDo('set', row)}>
        {word} …
      </Button>
      {inKeychain ? (
        <Button
          small
          kind="danger"
          aria-label={`Remove ${name}`}
          onClick={() => onDo('remove', row)}
        >
          Remove …
        </Button>
      ) : null}
    </span>
  );
}
