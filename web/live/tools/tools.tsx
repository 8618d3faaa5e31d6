import { channelName } from '../../../src/channels/registry.ts';
import { useState } from 'react';
import {
  modeWords,
  outcomeWords,
  describeRule,
  type ToolUseRow,
  type ToolUseText,
} from '../../../src/domain/tool-use.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { Link } from '../../kit/link.tsx';
import { Panel } from '../../kit/panel.tsx';
import { State, toneOf } from '../../kit/state.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { useNow } from '../../kit/use-now.ts';
import { ago, length, moment } from '../../kit/words.ts';
import { ToolTexts } from './tool-texts.tsx';
import { opener } from '../opener.tsx';
import { Paged } from '../paged.tsx';
import { Reveal } from '../reveal.tsx';
import { usePages } from '../use-pages.ts';
import { useRefresh } from '../use-refresh.ts';
import { toneOfOutcome } from '../outcome-tone.ts';

/** The audit of agents' tool calls: the tool, the rule, and the result. */
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
      none="No tool was used. An agent may use those that its brain names under agent.tools."
      renderDetail={({ key }) => (opened === key ? <Arguments of={key} /> : null)}
    />
  );
}

function Arguments({ of }: { readonly of: string }) {
  return (
    <div className="rounded-md bg-raised p-3">
      <Reveal<ToolUseText> path={`tool-uses/${encodeURIComponent(of)}`} what="the arguments">
        {(use) => (
          <>
            {use.conversation === '' ? null : (
              <p className="text-sm text-soft wrap-anywhere">
                In the conversation <AsWritten text={use.conversation} />
              </p>
            )}
            <ToolTexts use={use} />
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
  {
    title: 'Mode',
    cell: ({ mode }) => <State tone={toneOf(mode)}>{modeWords[mode]}</State>,
  },
  {
    title: 'Outcome',
    cell: ({ outcome }) => {
      return <State tone={toneOfOutcome(outcome)}>{outcomeWords[outcome]}</State>;
    },
  },
  { title: 'Rule', cell: ({ rule }) => describeRule(rule) },
  { title: 'Took', number: true, cell: ({ ms }) => length(ms) },
  { title: 'Channel', cell: ({ channel }) => channelName(channel) },
  {
    title: 'Message',
    cell: ({ messageId }) => <Link to={{ view: 'message', id: messageId }}>{messageId}</Link>,
  },
];
