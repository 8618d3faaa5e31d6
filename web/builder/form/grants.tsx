import { canonical } from '../../../src/config/changes/entries.ts';
import type { Json, JsonObject } from '../../../src/config/locate.ts';
import { State, toneOf } from '../../kit/state.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { visible } from '../../kit/visible.ts';
import type { Path } from '../../../src/config/edit/path.ts';
import { titleOfName } from '../document/channels.ts';
import { channelsOf } from '../document/starts.ts';
import { useDraft } from '../document/store.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isList, valueAt, wordOf } from '../document/value.ts';
import { useValue } from './at.ts';

type GrantRow = { readonly tool: string; readonly modes: Readonly<Record<string, string>> };

/** The effect of an agent's grants: each tool on each configured channel. */
export function GrantsTable({ agent }: { readonly agent: Path }) {
  const value = useValue(agent);
  const listed = useDraft((state) => JSON.stringify(channelsShown(state.document)));
  const channels = JSON.parse(listed) as readonly Shown[];
  const tools = valueAt(value, ['tools']);
  const used = isList(tools) ? [...new Set(tools.map(wordOf))] : [];
  const rows = used.map((tool): GrantRow => {
    const modes = channels.map(({ name }) => [name, modeOf(value, tool, name)] as const);
    return { tool, modes: Object.fromEntries(modes) };
  });
  if (rows.length === 0 || channels.length === 0) return null;
  return (
    <div className="flex flex-col gap-1">
      <p className="text-sm font-medium">What this comes to</p>
      <Table
        name="What the grants come to"
        columns={columnsOf(channels)}
        rows={rows}
        keyOf={({ tool }) => tool}
        none=""
      />
      <WhoDecides agent={value} rows={rows} />
    </div>
  );
}

type WhoProps = { readonly agent: Json | undefined; readonly rows: readonly GrantRow[] };

/** Warns where a call needs an approval and nobody is listed to give it. */
function WhoDecides({ agent, rows }: WhoProps) {
  const approvers = valueAt(agent, ['approvers']);
  const hasApprovers = isList(approvers) && approvers.length > 0;
  const asks = rows.some(({ modes }) => Object.values(modes).includes('ask'));
  if (!asks || hasApprovers) return null;
  return (
    <p className="text-sm">
      No approvers are listed: you decide what asks, in the live view under Approvals or by{' '}
      <code>svc approvals</code>.
    </p>
  );
}

type Shown = { readonly name: string; readonly title: string };

function channelsShown(document: JsonObject): readonly Shown[] {
  const names = new Set(channelsOf(document));
  return [...names].map((name) => ({ name, title: titleOfName(document, name) }));
}

function columnsOf(channels: readonly Shown[]): readonly Column<GrantRow>[] {
  return [
    { title: 'Tool', cell: ({ tool }) => <code>{tool}</code> },
    ...channels.map(({ name, title }) => ({
      title: visible(title),
      cell: ({ modes }: GrantRow) => {
        const [mode = ''] = (modes[name] ?? '').split(' ');
        return <State tone={toneOf(mode)}>{modes[name]}</State>;
      },
    })),
  ];
}

/** Without grants everything is allowed; with grants, a tool that none of them names is denied. */
function modeOf(agent: Json | undefined, tool: string, channel: string): string {
  const grants = valueAt(agent, ['governance']);
  if (!isList(grants) || grants.length === 0) return 'allow';
  const grant = grants.find(
    (one) => isObject(one) && one['tool'] === tool && holdsOn(one, channel),
  );
  return grant === undefined ? 'deny (no grant)' : wordOf(valueAt(grant, ['mode']));
}

function holdsOn(grant: Json, channel: string): boolean {
  const channels = valueAt(grant, ['channels']);
  if (!isList(channels)) return true;
  return channels.some((one) => canonical(wordOf(one)) === channel);
}
