import type { ReactNode } from 'react';
import type { SpendSummary } from '../../../src/admin/spend.ts';
import { channelName } from '../../../src/channels/registry.ts';
import { formatModelName } from '../../../src/domain/model-words.ts';
import type { SpendBy, SpendRow } from '../../../src/domain/spend.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { Link } from '../../kit/link.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { count } from '../../kit/words.ts';
import { bothOf, byWords, hasCost, roughCost, tokensIn } from './spend-words.ts';

/** A row for each model, brain, day or sender. */
export function SpendTable({ summary }: { readonly summary: SpendSummary }) {
  const { by, rows, total } = summary;
  return (
    <Table
      name="Spend"
      columns={[...namesOf(by), ...numbers, ...(hasCost(total) ? costs : [])]}
      rows={rows}
      keyOf={({ key, channel }) => `${channel ?? ''} ${key}`}
      none={
        by === 'sender' ? 'No sender is known: these calls were of trials.' : 'Nothing is kept.'
      }
    />
  );
}

function namesOf(by: SpendBy): readonly Column<SpendRow>[] {
  const name = { title: byWords[by], cell: ({ key }: SpendRow) => nameOf(by, key) };
  if (by !== 'sender') return [name];
  const channel = ({ channel: of }: SpendRow) => (of === null ? '–' : channelName(of));
  return [name, { title: 'Channel', cell: channel }];
}

function nameOf(by: SpendBy, key: string): ReactNode {
  switch (by) {
    case 'model':
      return (
        <Link to={{ view: 'model', id: key }}>
          <AsWritten text={formatModelName(key)} />
        </Link>
      );
    case 'brain':
      return (
        <Link to={{ view: 'messages', brain: key }}>
          <AsWritten text={key} />
        </Link>
      );
    case 'day':
    case 'sender':
      return <AsWritten text={key} />;
    default:
      return by satisfies never;
  }
}

const numbers: readonly Column<SpendRow>[] = [
  { title: 'Calls', number: true, cell: ({ calls }) => count(calls) },
  { title: 'Tokens', number: true, cell: tokensIn },
  {
    title: 'Estimated',
    number: true,
    cell: ({ estimatedCalls, calls }) =>
      estimatedCalls === 0 ? '–' : `${count(estimatedCalls)} of ${count(calls)} calls`,
  },
  {
    title: 'Reserved',
    number: true,
    cell: ({ open }) => (bothOf(open) === 0 ? '–' : `${count(bothOf(open))} tokens`),
  },
];

const costs: readonly Column<SpendRow>[] = [
  { title: 'Cost', number: true, cell: ({ cost }) => <Cost cost={cost} /> },
  { title: 'Cost reserved', number: true, cell: ({ openCost }) => <Cost cost={openCost} /> },
];

/** Rounded; the exact number is in the tooltip. */
function Cost({ cost }: { readonly cost: string | null }) {
  return cost === null ? '–' : <span title={cost}>{roughCost(cost)}</span>;
}
