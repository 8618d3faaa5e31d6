import { useMemo, useState } from 'react';
import type { ConfigKept, ConfigRow } from '../../../src/config/config-control.ts';
import { locate } from '../../../src/config/locate.ts';
import { Ago } from '../../kit/ago.tsx';
import { Button } from '../../kit/button.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { LineDiff } from './line-diff.ts';
import { Notice } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { State } from '../../kit/state.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { count, moment } from '../../kit/words.ts';
import { baseDocument, isDirty, useDraft } from '../document/store.ts';
import { restore } from './applying.ts';
import { ChangeList } from './change-list.tsx';
import { NotRead } from './not-read.tsx';
import { changesOf } from '../../../src/config/changes/changes.ts';

/** Earlier configurations, each with a button that takes it into use again. */
export function History() {
  const revision = useDraft((state) => state.base?.revision ?? '');
  return <Rows key={revision} />;
}

function Rows() {
  const { value, refused, again } = useAsked<{ readonly rows: readonly ConfigRow[] }>(
    'config/history',
  );
  const [looked, setLooked] = useState<ConfigRow | null>(null);
  const columns = useMemo(() => [...facts, lookColumn(setLooked)], []);
  return (
    <Panel title="Earlier configurations">
      <NotRead refused={refused} again={again} />
      {value === null ? null : (
        <Table
          name="Earlier configurations"
          columns={columns}
          rows={value.rows}
          keyOf={({ revision }) => revision}
          none="There was none before."
        />
      )}
      {looked === null ? null : <Earlier row={looked} onClose={() => setLooked(null)} />}
    </Panel>
  );
}

const facts: readonly Column<ConfigRow>[] = [
  {
    title: 'Saved',
    cell: ({ savedAt }) => (
      <span className="whitespace-nowrap">
        {moment(savedAt)}{' '}
        <span className="text-soft">
          (<Ago at={savedAt} />)
        </span>
      </span>
    ),
  },
  { title: 'Revision', cell: ({ revision }) => <code>{revision.slice(0, 12)}</code> },
  { title: 'Bytes', number: true, cell: ({ bytes }) => count(bytes) },
];

const lookColumn = (look: (row: ConfigRow) => void): Column<ConfigRow> => ({
  title: 'State',
  cell: (row) =>
    row.used ? (
      <State tone="good">In use</State>
    ) : (
      <Button small aria-label={`Look at ${row.revision.slice(0, 12)}`} onClick={() => look(row)}>
        Look at it
      </Button>
    ),
});

type EarlierProps = { readonly row: ConfigRow; readonly onClose: () => void };

/** One earlier configuration, shown as the changes that it would make. */
function Earlier({ row, onClose }: EarlierProps) {
  const { value, refused, again } = useAsked<ConfigKept>(
    `config/history/${encodeURIComponent(row.revision)}`,
  );
  const base = useDraft((state) => state.base);
  const dirty = useDraft(isDirty);
  const changes = useMemo(() => {
    if (base === null || value === null) return [];
    return changesOf(baseDocument(base), locate(value.text).value);
  }, [base, value]);
  const take = (): void => {
    if (value !== null) useDraft.getState().replace(value.text);
    onClose();
  };
  const restoreNow = (): void => {
    if (value !== null) void restore(value.revision, value.text);
    onClose();
  };
  return (
    <Dialog
      open
      wide
      title={`The configuration of ${moment(row.savedAt)}`}
      onClose={onClose}
      actions={
        <>
          <Button disabled={value === null} onClick={take}>
            Make it the draft
          </Button>
          <Button kind="main" disabled={value === null} onClick={restoreNow}>
            Put it into use now
          </Button>
        </>
      }
    >
      <NotRead refused={refused} again={again} />
      {value === null || base === null ? null : (
        <div className="flex flex-col gap-3">
          {dirty ? (
            <Notice tone="wait">
              There is a draft that is not applied. “Make it the draft” takes its place (Undo brings
              it back). “Put it into use now” leaves it, and to apply it then takes this one back.
            </Notice>
          ) : null}
          <p>Against what is in use now:</p>
          <ChangeList changes={changes} none="It says the same as what is in use." />
          <LineDiff name="Lines that differ" before={base.text} after={value.text} />
        </div>
      )}
    </Dialog>
  );
}
