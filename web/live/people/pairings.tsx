import { channelName } from '../../../src/channels/registry.ts';
import { useState, type FormEvent } from 'react';
import type { Pairing } from '../../../src/domain/gate.ts';
import { Asking } from '../../kit/asking.tsx';
import { AsWritten } from '../../kit/as-written.tsx';
import { ask } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { TextField } from '../../kit/field.tsx';
import { Notice } from '../../kit/notice.tsx';
import { State } from '../../kit/state.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { useNow } from '../../kit/use-now.ts';
import { visible } from '../../kit/visible.ts';
import { ago, ahead, some } from '../../kit/words.ts';
import { useRefresh } from '../use-refresh.ts';
import { ForgetPerson } from './forget-person.tsx';

/** People whom a code let in, and open pairing requests with their codes. */
export function Pairings() {
  const { value, refused, again } = useAsked<{ readonly rows: readonly Pairing[] }>('pairings');
  useRefresh(['message_turned_away', 'operator_wrote'], again);
  const [leaving, setLeaving] = useState<Pairing | null>(null);
  const now = useNow();
  const [forgotten, setForgotten] = useState<string | null>(null);
  const noteForgotten = ({ name, sender }: Pairing, deleted: number): void => {
    const amount = deleted === 0 ? 'kept no message' : `deleted ${some(deleted, 'message')}`;
    setForgotten(`svc ${amount} of ${visible(name ?? sender)}.`);
  };
  return (
    <>
      <AdmitForm onDone={again} />
      <div role="status">
        {forgotten === null ? null : <Notice tone="good">{forgotten}</Notice>}
      </div>
      <Asking value={value} refused={refused} />
      {value === null ? null : (
        <Table
          name="Let in by a code"
          columns={columnsAt(now, setLeaving, noteForgotten)}
          rows={value.rows}
          keyOf={({ channel, sender }) => `${channel} ${sender}`}
          none={noneYet}
        />
      )}
      {leaving === null ? null : (
        <RemoveDialog
          key={`${leaving.channel} ${leaving.sender}`}
          pairing={leaving}
          onClose={() => setLeaving(null)}
          onDone={again}
        />
      )}
    </>
  );
}

const noneYet =
  'Nobody was let in by a code, and nobody asks to be. With access.pairing a stranger who writes ' +
  'to the bot is given one.';

type Said = { readonly tone: 'good' | 'bad'; readonly words: string } | null;

function AdmitForm({ onDone }: { readonly onDone: () => void }) {
  const [code, setCode] = useState('');
  const [said, setSaid] = useState<Said>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const given = code.trim();
    if (given === '') return setSaid({ tone: 'bad', words: 'Write the code.' });
    setBusy(true);
    const answer = await ask<Pairing>(`pairings/${encodeURIComponent(given)}`, { method: 'POST' });
    setBusy(false);
    if (answer.kind === 'refused') return setSaid({ tone: 'bad', words: answer.detail });
    const { name, sender, channel } = answer.value;
    setSaid({
      tone: 'good',
      words: `${visible(name ?? sender)} may talk on ${channelName(channel)} from now on.`,
    });
    setCode('');
    onDone();
  };
  return (
    <form
      onSubmit={(event) => void submit(event)}
      className="flex max-w-md flex-col gap-2"
      noValidate
    >
      <TextField
        id="pairing-code"
        label="Code"
        value={code}
        maxLength={64}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setCode(event.target.value)}
        hint="From the stranger, by a way on which you know them. Case and hyphens do not count."
      />
      <Button type="submit" kind="main" className="self-start" disabled={busy}>
        Let them in
      </Button>
      {said === null ? null : (
        <div role="status">
          <Notice tone={said.tone}>
            <AsWritten text={said.words} />
          </Notice>
        </div>
      )}
    </form>
  );
}

const columnsAt = (
  now: number,
  onRemove: (pairing: Pairing) => void,
  onForgotten: (pairing: Pairing, deleted: number) => void,
): readonly Column<Pairing>[] => [
  { title: 'Name', cell: ({ name }) => (name === null ? '–' : <AsWritten text={name} />) },
  { title: 'Sender', cell: ({ sender }) => <AsWritten text={sender} /> },
  { title: 'Channel', cell: ({ channel }) => channelName(channel) },
  {
    title: 'State',
    cell: ({ state, at }) =>
      state === 'admitted' ? (
        <>
          <State tone="good">let in</State>
          <p className="text-soft">{ago(at, now)}</p>
        </>
      ) : (
        <>
          <State tone="wait">was given a code</State>
          <p className="text-soft">it ends {ahead(at, now)}</p>
        </>
      ),
  },
  {
    title: 'Change',
    cell: (pairing) => (
      <span className="flex flex-wrap gap-2">
        <Button
          small
          kind="danger"
          aria-label={`Remove ${visible(pairing.name ?? pairing.sender)}`}
          onClick={() => onRemove(pairing)}
        >
          Remove …
        </Button>
        {pairing.state === 'asking' ? null : (
          <ForgetPerson
            channel={pairing.channel}
            sender={{ id: pairing.sender, name: pairing.name }}
            onDone={(deleted) => onForgotten(pairing, deleted)}
          />
        )}
      </span>
    ),
  },
];

type RemoveProps = {
  readonly pairing: Pairing;
  readonly onClose: () => void;
  readonly onDone: () => void;
};

function RemoveDialog({ pairing, onClose, onDone }: RemoveProps) {
  const { channel, sender, name, state } = pairing;
  const who = visible(name ?? sender);
  const where = channelName(channel);
  const stranger =
    `${who} is a stranger on ${where} again, turned away unless access.allow lists them. ` +
    'What they said before is kept.';
  const [fault, setFault] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const remove = async (): Promise<void> => {
    setBusy(true);
    const path = `pairings/${encodeURIComponent(channel)}/${encodeURIComponent(sender)}`;
    const answer = await ask(path, { method: 'DELETE' });
    setBusy(false);
    if (answer.kind === 'refused') return setFault(answer.detail);
    onDone();
    onClose();
  };
  return (
    <Dialog
      open
      title={`Remove ${who}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Leave as it is</Button>
          <Button kind="danger" disabled={busy} onClick={() => void remove()}>
            Remove
          </Button>
        </>
      }
    >
      <p>{state === 'admitted' ? stranger : `The code of ${who} on ${where} counts no more.`}</p>
      {fault === null ? null : <Notice tone="bad">{fault}</Notice>}
    </Dialog>
  );
}
