import { useState } from 'react';
import type { ToolOutcome, ToolUseRow, ToolUseText } from '../../../src/domain/tool-use.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { Link } from '../../kit/link.tsx';
import { Panel } from '../../kit/panel.tsx';
import { State, toneOf, type Tone } from '../../kit/state.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { useNow } from '../../kit/use-now.ts';
import { ago, length, moment } from '../../kit/words.ts';
import { Words } from '../words.tsx';
import { opener } from '../opener.tsx';
import { Paged } from '../paged.tsx';
import { Reveal } from '../reveal.tsx';
import { usePages } from '../use-pages.ts';
import { useRefresh } from '../use-refresh.ts';

const outcomes: Readonly<Record<ToolOutcome, readonly [Tone, string]>> = {
  done: ['good', 'done'],
  failed: ['bad', 'failed'],
  rehearsed: ['wait', 'rehearsed: it did not run'],
  denied: ['bad', 'denied: no grant'],
  refused: ['bad', 'refused by the cage'],
  invalid: ['bad', 'wrong arguments'],
  unknown: ['wait', 'not known: svc ended under it'],
};

/** The audit of agents' tools: what was called, by which rule, and what came of it. */
export function Tools() {
  const pages = usePages<ToolUseRow>('tool-uses');
  useRefresh(['tool_used', 'turn_finished'], pages.again);
  return (
    <Panel title="Tool uses">
      <p className="max-w-prose text-soft">
        Each call that a model asked for, the ones that did not run among them. Without storage the
        last thousand are known.
      </p>
      <Paged pages={pages} words={['use', 'uses']}>
        {(rows) => <Uses rows={rows} />}
      </Paged>
    </Panel>
  );
}

function Uses({ rows }: { readonly rows: readonly ToolUseRow[] }) {
  const now = useNow();
  const [opened, setOpened] = useState<string | null>(null);
  const columns: readonly Column<ToolUseRow>[] = [
    opener({
      title: 'More',
      opened,
      keyOf: ({ key }) => key,
      nameOf: ({ key, tool }) => `the arguments of ${tool}, ${key}`,
      onOpen: setOpened,
    }),
    ...factsAt(now),
  ];
  return (
    <Table
      name="Tool uses"
      columns={columns}
      rows={rows}
      keyOf={({ key }) => key}
      none="No tool was used."
      renderDetail={({ key }) => (opened === key ? <Arguments of={key} /> : null)}
    />
  );
}

function Arguments({ of }: { readonly of: string }) {
  return (
    <div className="rounded-md bg-raised p-3">
      <Reveal<ToolUseText> path={`tool-uses/${encodeURIComponent(of)}`} what="the arguments">
        {({ arguments: given, conversation }) => (
          <>
            {conversation === '' ? null : (
              <p className="text-sm text-soft wrap-anywhere">
                In the conversation <AsWritten text={conversation} />
              </p>
            )}
            {given === null ? <p>Without storage they are not kept.</p> : <Words>{given}</Words>}
          </>
        )}
      </Reveal>
    </div>
  );
}

const factsAt = (now: number): readonly Column<ToolUseRow>[] => [
  { title: 'Called', cell: ({ at }) => <span title={moment(at)}>{ago(at, now)}</span> },
  {
    title: 'Tool',
    cell: ({ tool }) => (
      <code>
        <AsWritten text={tool} />
      </code>
    ),
  },
  { title: 'Mode', cell: ({ mode }) => <State tone={toneOf(mode)}>{mode}</State> },
  {
    title: 'Outcome',
    cell: ({ outcome }) => {
      const [tone, words] = outcomes[outcome];
      return <State tone={tone}>{words}</State>;
    },
  },
  { title: 'Rule', cell: ({ rule }) => <code>{rule}</code> },
  { title: 'Took', number: true, cell: ({ ms }) => length(ms) },
  { title: 'Channel', cell: ({ channel }) => channel },
  {
    title: 'Message',
    cell: ({ messageId }) => <Link to={{ view: 'message', id: messageId }}>{messageId}</Link>,
  },
];
