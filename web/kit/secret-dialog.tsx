import { useLayoutEffect, useRef, useState, type FormEvent, type KeyboardEvent } from 'react';
import type { SecretList, SecretPresence, SecretStore } from '../../src/admin/secret-control.ts';
import { faultOfSecretValue } from '../../src/config/secret-value.ts';
import { ask, longLimitMs, type Refused } from './api.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { TextField } from './field.tsx';
import { Notice, Refusal } from './notice.tsx';
import { OtherWays } from './secret-source.tsx';
import { useAsked } from './use-asked.ts';

type Props = {
  readonly presence: SecretPresence;
  readonly onClose: () => void;
  /** Called after the value is stored. */
  readonly onDone: () => void;
};

/**
 * Asks for the value of a variable and has the service store it. Only the input holds the value,
 * until it is sent or the dialog closes. Nothing shows it again.
 */
export function SecretDialog({ presence, onClose, onDone }: Props) {
  const { name, inKeychain } = presence;
  const { value: list, refused, again } = useAsked<SecretList>('secrets');
  const [isKept, setKept] = useState(false);
  const row = list?.rows.find((one) => one.name === name);
  return (
    <Dialog
      open
      title={`${inKeychain ? 'Replace' : 'Set'} ${name}`}
      onClose={onClose}
      actions={isKept ? <Button onClick={onClose}>Done</Button> : null}
    >
      <div className="flex flex-col gap-3">
        <Refusal refused={refused} />
        {list === null ? (
          refused === null && <p className="text-soft">Looking at the keychain …</p>
        ) : isKept ? (
          <Kept source={presence.source} isUsed={(row?.usedAt.length ?? 0) > 0} name={name} />
        ) : canBeAsked(list.store) && isOnMachine() ? (
          <ValueForm
            name={name}
            store={list.store}
            onKept={() => {
              setKept(true);
              onDone();
            }}
          />
        ) : (
          <NotHere name={name} store={list.store} onAgain={again} />
        )}
      </div>
    </Dialog>
  );
}

/** A locked keychain can be unlocked, and one that refused may be asked again. */
const canBeAsked = ({ state }: SecretStore): boolean =>
  state === 'ready' || state === 'locked' || state === 'denied';

/** The service accepts values only from its own machine. */
const isOnMachine = (): boolean => /^(?:127\.0\.0\.1|localhost|\[::1\])$/.test(location.hostname);

type FormProps = {
  readonly name: string;
  readonly store: SecretStore;
  readonly onKept: () => void;
};

function ValueForm({ name, store, onKept }: FormProps) {
  const input = useRef<HTMLInputElement>(null);
  const [fault, setFault] = useState<string | null>(null);
  const [refused, setRefused] = useState<Refused | null>(null);
  const [busy, setBusy] = useState(false);
  // The dialog opened before the input was there to be focused.
  useLayoutEffect(() => input.current?.focus(), []);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (busy || input.current === null) return;
    const { value } = input.current;
    const wrong = faultOfSecretValue(value);
    setFault(wrong);
    setRefused(null);
    if (wrong !== null) return input.current.focus();
    input.current.value = '';
    setBusy(true);
    const question = { method: 'PUT', body: { value }, limitMs: longLimitMs } as const;
    const answer = await ask(`secrets/${encodeURIComponent(name)}`, question);
    setBusy(false);
    if (answer.kind === 'ok') return onKept();
    setRefused(answer);
    input.current?.focus();
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-3" noValidate>
      {store.state === 'ready' ? null : (
        <Notice tone="wait">
          {store.message} Saving may open a question on the screen of the machine.
        </Notice>
      )}
      <TextField
        id="secret-value"
        ref={input}
        label={`Value of ${name}`}
        type="password"
        autoComplete="new-password"
        data-1p-ignore=""
        data-bwignore=""
        data-lpignore="true"
        spellCheck={false}
        onKeyDown={keepKeys}
        hint="It goes into the keychain of the machine, and is shown nowhere afterwards."
        fault={fault}
      />
      <Refusal refused={refused} />
      <Button kind="main" type="submit" className="self-start" aria-disabled={busy}>
        {busy ? 'Saving …' : 'Save'}
      </Button>
    </form>
  );
}

/** Undo keys undo typing here, and nothing of the page. */
function keepKeys(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey) event.stopPropagation();
}

type NotHereProps = {
  readonly name: string;
  readonly store: SecretStore;
  readonly onAgain: () => void;
};

function NotHere({ name, store, onAgain }: NotHereProps) {
  if (canBeAsked(store)) {
    return (
      <Notice tone="wait">
        Values are taken from the machine of svc alone. Open this page there, at 127.0.0.1 or
        through an SSH tunnel, or run <code className="wrap-anywhere">svc secrets set {name}</code>{' '}
        there.
      </Notice>
    );
  }
  return (
    <>
      <Notice tone="wait">
        <p>{store.message}</p>
        <p>{store.remedy}</p>
      </Notice>
      <OtherWays name={name} />
      <Button className="self-start" onClick={onAgain}>
        Look again
      </Button>
    </>
  );
}

type KeptProps = {
  readonly name: string;
  readonly source: SecretPresence['source'];
  readonly isUsed: boolean;
};

function Kept({ name, source, isUsed }: KeptProps) {
  const isShadowed = source !== 'keychain' && source !== 'missing';
  return (
    <div role="status">
      <Notice tone={isShadowed || isUsed ? 'wait' : 'good'}>
        <p>The keychain has a value of {name} now.</p>
        {isShadowed ? (
          <p>It does not count: {name} is set where svc runs, and that value comes first.</p>
        ) : isUsed ? (
          <p>svc needs a restart to take it: until then it has the value from before.</p>
        ) : (
          <p>svc takes it with the next configuration that names it.</p>
        )}
      </Notice>
    </div>
  );
}
