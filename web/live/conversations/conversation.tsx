import { completionsChannel } from '../../../src/domain/ids.ts';
import { channelName } from '../../../src/channels/registry.ts';
import type { ConversationText, TurnText, ConversationKey } from '../../../src/domain/story.ts';
import type { Page } from '../../../src/domain/page.ts';
import { cutReasons } from '../../../src/domain/trace.ts';
import { Asking } from '../../kit/asking.tsx';
import { Link } from '../../kit/link.tsx';
import { Refusal } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { moment, some } from '../../kit/words.ts';
import { Reveal } from '../reveal.tsx';
import { useRefresh } from '../use-refresh.ts';
import { Takeover } from './takeover.tsx';
import { pathOf } from './path-of.ts';
import { NamedTurn } from '../links/named-turn.tsx';
import { Turns } from './turns.tsx';
import { goTo } from '../../kit/place.ts';
import { ConfirmedDelete } from './confirmed.tsx';
import { useState } from 'react';
import type { NoteText } from '../../../src/domain/note.ts';
import { ask, type Refused } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { readRest } from './read-rest.ts';
import { Words } from '../words.tsx';

const pageRows = 500;

/** @param id of svc. A platform's id may be a person's name or number, so no URL holds it */
export function Conversation({ id }: { readonly id: string }) {
  const path = `conversations/${encodeURIComponent(id)}`;
  const { value, answeredAt, refused, again } = useAsked<ConversationText>(path);
  useRefresh(['message_accepted', 'turn_finished', 'command_answered', 'operator_wrote'], again);
  // The texts of a deleted conversation disappear.
  const isGone = refused?.status === 404;
  return (
    <>
      <p>
        <Link to={{ view: 'conversations' }}>All conversations</Link>
      </p>
      <Refusal refused={refused} />
      {value === null || isGone ? (
        refused === null && <Asking />
      ) : (
        <>
          <Panel
            title={value.conversation}
            aside={
              <span className="flex flex-wrap gap-2">
                <Export conversation={value} />
                <DeleteConversation conversation={value} />
              </span>
            }
          >
            <p className="text-soft">
              {[
                channelName(value.channel),
                some(value.turns, 'turn'),
                some(value.sessions, 'session'),
                `${moment(value.firstAt)} to ${moment(value.lastAt)}`,
                `${value.waiting} waiting`,
              ].join(' · ')}
            </p>
            <Cuts cuts={value.cuts} />
          </Panel>
          {value.channel === completionsChannel ? null : (
            <Takeover id={id} counted={{ waiting: value.waiting, at: answeredAt ?? 0 }} />
          )}
          <TurnsOf conversation={value} />
          <Notes of={value} />
        </>
      )}
    </>
  );
}

/** The texts of a conversation, only after a press. */
function TurnsOf({ conversation }: { readonly conversation: ConversationText }) {
  const path = `conversations/${pathOf(conversation)}/turns`;
  return (
    <Panel title="Turns">
      <NamedTurn />
      <Reveal<Page<TurnText>> path={`${path}?limit=${pageRows}`} what="what was said">
        {(first) => <Turns path={path} first={first} cuts={conversation.cuts} />}
      </Reveal>
    </Panel>
  );
}

function Cuts({ cuts }: Pick<ConversationText, 'cuts'>) {
  if (cuts.length === 0) return <p className="text-soft">No session was ever cut.</p>;
  return (
    <ul aria-label="Where sessions were cut" className="max-h-48 overflow-y-auto text-sm">
      {cuts.map(({ session, at, reason }) => (
        <li key={session}>
          Session {session} began {moment(at)}: {cutReasons[reason]}.
        </li>
      ))}
    </ul>
  );
}

function DeleteConversation({ conversation }: { readonly conversation: ConversationText }) {
  const { turns, waiting } = conversation;
  return (
    <ConfirmedDelete
      label="Delete"
      question="Delete this conversation?"
      path={`conversations/${pathOf(conversation)}`}
      onDone={() => goTo({ view: 'conversations' }, { replace: true })}
    >
      <p>
        {some(turns, 'turn')}, the notes of it
        {waiting > 0 ? `, and ${waiting} that wait or are at work` : ''} are deleted. Nothing of it
        can be brought back.
      </p>
    </ConfirmedDelete>
  );
}

/** Saves all data of a conversation as one JSON file. */
function Export({ conversation }: { readonly conversation: ConversationText }) {
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Refused | null>(null);
  const write = async (): Promise<void> => {
    setBusy(true);
    const read = await everythingOf(conversation);
    setBusy(false);
    if (read.kind === 'refused') return setRefused(read);
    setRefused(null);
    save(`conversation-${conversation.channel.replaceAll(':', '-')}.json`, read.value);
  };
  return (
    <>
      <Refusal refused={refused} />
      <Button small disabled={busy} onClick={() => void write()}>
        {busy ? 'Reading …' : 'Export'}
      </Button>
    </>
  );
}

async function everythingOf(conversation: ConversationText) {
  const path = pathOf(conversation);
  const turns: TurnText[] = [];
  const { signal } = new AbortController();
  const first = await ask<Page<TurnText>>(`conversations/${path}/turns?limit=500`);
  if (first.kind === 'refused') return first;
  const add = ({ rows }: Page<TurnText>): void => void turns.push(...rows);
  add(first.value);
  const failed = await readRest(`conversations/${path}/turns`, first.value.next, signal, add);
  if (failed !== null) return failed;
  const notes = await ask<{ readonly rows: readonly NoteText[] }>(`notes/${path}`);
  if (notes.kind === 'refused') return notes;
  return { kind: 'ok', value: { conversation, turns, notes: notes.value.rows } } as const;
}

function save(name: string, value: unknown): void {
  const blob = new Blob([`${JSON.stringify(value, null, 2)}\n`], { type: 'application/json' });
  const href = URL.createObjectURL(blob);
  const anchor = document.createElement('a');
  anchor.href = href;
  anchor.download = name;
  anchor.click();
  // By the next task the browser has begun to read it.
  setTimeout(() => URL.revokeObjectURL(href));
}

type Rows = { readonly rows: readonly NoteText[] };

/** An agent's notes about a conversation. */
function Notes({ of }: { readonly of: ConversationKey }) {
  const [round, setRound] = useState(0);
  const path = `notes/${pathOf(of)}`;
  return (
    <Panel title="Notes">
      <Reveal<Rows> key={round} path={path} what="the notes">
        {({ rows }) =>
          rows.length === 0 ? (
            <p className="text-soft">No agent keeps a note of it.</p>
          ) : (
            <>
              <ul className="flex flex-col gap-2">
                {rows.map(({ at, text }) => (
                  <li key={`${at} ${text}`}>
                    <p className="text-sm text-soft">{moment(at)}</p>
                    <Words>{text}</Words>
                  </li>
                ))}
              </ul>
              <div>
                <ConfirmedDelete
                  label="Delete the notes"
                  question="Delete the notes of this conversation?"
                  path={path}
                  onDone={() => setRound((before) => before + 1)}
                >
                  <p>The agent forgets them; its turns stay. They cannot be brought back.</p>
                </ConfirmedDelete>
              </div>
            </>
          )
        }
      </Reveal>
    </Panel>
  );
}
