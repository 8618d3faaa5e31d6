import { channelName } from '../../../src/channels/registry.ts';
import type { AuditRow } from '../../../src/domain/audit.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { Panel } from '../../kit/panel.tsx';
import { State, type Tone } from '../../kit/state.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { moment, spaced } from '../../kit/words.ts';
import { OperatorOnly } from '../operator-only.tsx';
import { Paged } from '../paged.tsx';
import { usePages } from '../use-pages.ts';
import { useRefresh } from '../use-refresh.ts';

/** The list of the operators' actions. */
export function Audit() {
  return (
    <Panel title="Audit">
      <p className="max-w-prose text-soft">
        Every use of what changes something, whether it succeeded or not, and each time that what
        people wrote was shown. With storage it is kept for 365 days; without, the last thousand
        uses are.
      </p>
      <OperatorOnly may="see what operators did">
        <Uses />
      </OperatorOnly>
    </Panel>
  );
}

function Uses() {
  const pages = usePages<AuditRow>('audit');
  useRefresh(['operator_wrote'], pages.again);
  return (
    <Paged pages={pages} words={['use', 'uses']}>
      {(rows) => (
        <Table
          name="Audit"
          columns={columns}
          rows={rows}
          keyOf={(row) => JSON.stringify(row)}
          none="Nothing was changed by an operator, or shown to one, so far."
        />
      )}
    </Paged>
  );
}

const columns: readonly Column<AuditRow>[] = [
  { title: 'When', cell: ({ at }) => moment(at) },
  { title: 'What', cell: ({ action }) => spaced(action) },
  {
    title: 'On what',
    cell: ({ target }) => (
      <ul>
        {Object.entries(target).map(([name, value]) => (
          <li key={name} className="wrap-anywhere">
            <span className="text-soft">{spaced(name)}</span>{' '}
            <AsWritten text={name === 'channel' ? channelName(value) : value} />
          </li>
        ))}
      </ul>
    ),
  },
  {
    title: 'How it ended',
    cell: ({ status }) => {
      const [tone, words] = endingOf(status);
      return (
        <State tone={tone}>
          {words} ({status})
        </State>
      );
    },
  },
  { title: 'Why', cell: ({ reason }) => (reason === null ? '–' : <AsWritten text={reason} />) },
];

/** Tone and word for an HTTP status. */
function endingOf(status: number): readonly [Tone, string] {
  if (status < 300) return ['good', 'done'];
  if (status === 404) return ['wait', 'not found'];
  return status < 500 ? ['wait', 'refused'] : ['bad', 'failed'];
}
