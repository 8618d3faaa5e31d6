import { useState } from 'react';
import type { SecretList, SecretRow, SecretStore } from '../../../src/admin/secret-control.ts';
import { Asking } from '../../kit/asking.tsx';
import { useApplication } from '../../kit/application.ts';
import { Button } from '../../kit/button.tsx';
import { Notice, Refusal } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { SecretDialog } from '../../kit/secret-dialog.tsx';
import { OtherWays, storeNames } from '../../kit/secret-source.tsx';
import { State } from '../../kit/state.tsx';
import { Table } from '../../kit/table.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { OperatorOnly } from '../operator-only.tsx';
import { useRefresh } from '../use-refresh.ts';
import { columnsWith } from './columns.tsx';
import { ask, longLimitMs, type Refused } from '../../kit/api.ts';
import { Dialog } from '../../kit/dialog.tsx';

/** The configuration's secrets and their sources; those of the keychain can be set and removed. */
export function Secrets() {
  return (
    <>
      <Panel title="Secrets">
        <p className="max-w-prose text-soft">
          Where the value of each variable comes from: the first of environment, file, systemd
          credential and keychain that has one. Values are shown nowhere.
        </p>
        <OperatorOnly may="see where they are set">
          <Shown />
        </OperatorOnly>
      </Panel>
    </>
  );
}

type Doing = { readonly what: 'set' | 'remove'; readonly row: SecretRow } | null;

function Shown() {
  const { value, refused, again } = useAsked<SecretList>('secrets');
  useRefresh(['plan_used', 'operator_wrote'], again);
  const [doing, setDoing] = useState<Doing>(null);
  const close = (): void => setDoing(null);
  return (
    <>
      <Asking value={value} refused={refused} />
      {value === null ? null : (
        <>
          <Store store={value.store} onAgain={again} />
          <Restart rows={value.rows} />
          <Table
            name="Secrets"
            columns={columnsWith((what, row) => setDoing({ what, row }))}
            rows={value.rows}
            keyOf={({ name }) => name}
            none="The configuration names no secret."
          />
        </>
      )}
      {doing?.what === 'set' ? (
        <SecretDialog presence={doing.row} onClose={close} onDone={again} />
      ) : null}
      {doing?.what === 'remove' ? (
        <RemoveSecret row={doing.row} onClose={close} onDone={again} />
      ) : null}
    </>
  );
}

/** A note about a restart; in the application there is a button for it. */
function Restart({ rows }: Pick<SecretList, 'rows'>) {
  const page = useApplication((state) => state.page);
  if (page === null || !rows.some(({ restart }) => restart)) return null;
  return (
    <Notice tone="wait">
      svc takes a new value when it starts again, and{' '}
      <a href={page}>the page of this application</a> has a button for that.
    </Notice>
  );
}

type StoreProps = { readonly store: SecretStore; readonly onAgain: () => void };

function Store({ store, onAgain }: StoreProps) {
  const { kind, state, message, remedy } = store;
  if (state === 'ready') {
    return (
      <p className="flex flex-wrap gap-x-2">
        Keychain ({storeNames[kind]}): <State tone="good">ready</State>
      </p>
    );
  }
  return (
    <Notice tone="wait">
      <div className="flex flex-col gap-2">
        <p>
          Keychain ({storeNames[kind]}): {message} {remedy}
        </p>
        <OtherWays name="NAME" />
        <Button small className="self-start" onClick={onAgain}>
          Look again
        </Button>
      </div>
    </Notice>
  );
}

type Props = {
  readonly row: SecretRow;
  readonly onClose: () => void;
  readonly onDone: () => void;
};

/** Confirms the removal of a value from the keychain, and explains its effect. */
function RemoveSecret({ row: { name, source, usedAt }, onClose, onDone }: Props) {
  const [refused, setRefused] = useState<Refused | null>(null);
  const [busy, setBusy] = useState(false);
  const remove = async (): Promise<void> => {
    setBusy(true);
    const question = { method: 'DELETE', limitMs: longLimitMs } as const;
    const answer = await ask(`secrets/${encodeURIComponent(name)}`, question);
    setBusy(false);
    if (answer.kind === 'refused') return setRefused(answer);
    onDone();
    onClose();
  };
  const isNeeded = usedAt.length > 0 && source === 'keychain';
  return (
    <Dialog
      open
      title={`Remove ${name} from the keychain?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Leave it there</Button>
          <Button kind="danger" disabled={busy} onClick={() => void remove()}>
            {busy ? 'Removing …' : 'Remove'}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-2">
        <p>
          {isNeeded
            ? 'svc has the value until it ends. After that it does not start before the variable ' +
              'is set again, there or elsewhere.'
            : 'What runs does not use it. svc cannot bring the value back.'}
        </p>
        <Refusal refused={refused} />
      </div>
    </Dialog>
  );
}
