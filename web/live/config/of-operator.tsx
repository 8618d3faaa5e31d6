import { useState } from 'react';
import type { ConfigInUse, ConfigRow } from '../../../src/config/config-control.ts';
import { Asking } from '../../kit/asking.tsx';
import { AsWritten } from '../../kit/as-written.tsx';
import { Button } from '../../kit/button.tsx';
import { Refusal } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { State } from '../../kit/state.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { useToken } from '../../kit/token.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { count, moment } from '../../kit/words.ts';
import { useRefresh } from '../use-refresh.ts';
import { Earlier } from './earlier.tsx';

/** The text of the configuration and earlier ones, only with the bearer. */
export function OfOperator() {
  const token = useToken((state) => state.token);
  return token === null ? null : <Shown />;
}

function Shown() {
  const now = useAsked<ConfigInUse>('config');
  const history = useAsked<{ readonly rows: readonly ConfigRow[] }>('config/history');
  const again = (): void => {
    now.again();
    history.again();
  };
  useRefresh(['plan_used', 'operator_wrote'], again);
  return (
    <>
      <Panel title="History">
        <Refusal refused={history.refused} />
        {history.value === null || now.value === null ? (
          history.refused === null && <Asking />
        ) : (
          <History rows={history.value.rows} now={now.value} onRestored={again} />
        )}
      </Panel>
      <Panel title="Text in use">
        <Refusal refused={now.refused} />
        {now.value === null ? null : <Text now={now.value} />}
      </Panel>
    </>
  );
}

type HistoryProps = {
  readonly rows: readonly ConfigRow[];
  readonly now: ConfigInUse;
  readonly onRestored: () => void;
};

function History({ rows, now, onRestored }: HistoryProps) {
  const [chosen, setChosen] = useState<string | null>(null);
  return (
    <>
      <p className="max-w-prose text-soft">
        {now.place === 'database'
          ? 'The last hundred texts are kept in the database, for every svc on it.'
          : 'The last ten texts that were replaced while svc ran are kept beside the file.'}
      </p>
      <Table
        name="History"
        columns={columnsOf(setChosen)}
        rows={rows}
        keyOf={({ revision, used }) => `${revision} ${String(used)}`}
        none="No earlier one is kept."
      />
      {chosen === null ? null : (
        <Earlier
          key={chosen}
          revision={chosen}
          now={now}
          onClose={() => setChosen(null)}
          onRestored={onRestored}
        />
      )}
    </>
  );
}

const columnsOf = (onCompare: (revision: string) => void): readonly Column<ConfigRow>[] => [
  { title: 'Revision', cell: ({ revision }) => <code>{revision}</code> },
  { title: 'Saved', cell: ({ savedAt }) => moment(savedAt) },
  { title: 'Bytes', number: true, cell: ({ bytes }) => count(bytes) },
  {
    title: 'Change',
    cell: ({ used, revision }) =>
      used ? (
        <State tone="good">in use</State>
      ) : (
        <Button
          small
          aria-label={`Compare ${revision} with the one in use`}
          onClick={() => onCompare(revision)}
        >
          Compare …
        </Button>
      ),
  },
];

function Text({ now: { text, file, place } }: { readonly now: ConfigInUse }) {
  return (
    <>
      <p className="text-soft wrap-anywhere">
        {place === 'database' ? 'From the database, as every svc on it has it in use.' : null}
        {place === 'nowhere' ? 'It stands in no file.' : null}
        {file === null ? null : `From ${file}, as it is in use.`}
      </p>
      <pre
        role="group"
        aria-label="Text in use"
        tabIndex={0}
        className="max-h-[70vh] overflow-auto rounded-md border border-line bg-card px-3 py-2 text-sm"
      >
        <AsWritten text={text} lines />
      </pre>
    </>
  );
}
