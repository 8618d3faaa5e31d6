/** The form for the administrator's token. */
import { useLayoutEffect, useRef, useState, type FormEvent } from 'react';
import type { Status } from '../../src/admin/admin.ts';
import { ask, type Refused } from './api.ts';
import { Button } from './button.tsx';
import { TextField } from './field.tsx';
import { enterWith } from './arrival.ts';
import { readPasted } from './pasted-token.ts';

type Props = {
  readonly onDone?: () => void;
  /** False: another element of the page is more important for the focus. */
  readonly isFirst?: boolean;
};

/** Asks for the administrator's token and tries it. */
export function SignIn({ onDone, isFirst = true }: Props) {
  const [written, setWritten] = useState('');
  const [fault, setFault] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (isFirst) input.current?.focus();
  }, [isFirst]);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    const refuse = (why: string): void => {
      setFault(why);
      input.current?.focus();
    };
    const pasted = readPasted(written);
    if (pasted.kind === 'fault') return refuse(pasted.fault);
    const { token } = pasted;
    setBusy(true);
    // Works without a bearer too, but the service refuses a wrong one.
    const answer = await ask('status', { token });
    const why = answer.kind === 'refused' ? await faultOf(answer) : null;
    setBusy(false);
    if (why !== null) return refuse(why);
    enterWith(token);
    onDone?.();
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-3" noValidate>
      <TextField
        id="token"
        ref={input}
        label="Administrator token"
        type="password"
        autoComplete="off"
        spellCheck={false}
        value={written}
        onChange={(event) => setWritten(event.target.value)}
        hint={
          'svc demo prints it. Else it is the value of the variable that admin.token_env names, ' +
          'such as ADMIN_TOKEN. This tab keeps it until you sign out or close it.'
        }
        fault={fault}
      />
      <Button kind="main" type="submit" aria-disabled={busy}>
        Sign in
      </Button>
    </form>
  );
}

const readOnly =
  'This service is read-only, no token opens it: set the variable that admin.token_env names ' +
  'where it runs, and restart it.';

async function faultOf({ status, detail }: Refused): Promise<string> {
  if (status !== 401) return detail;
  const seen = await ask<Status>('status');
  const isReadOnly = seen.kind === 'ok' && seen.value.access === 'read_only';
  return isReadOnly ? readOnly : 'The service does not accept it.';
}

/** A link to the token form, for a person who has a token beside another way to sign in. */
export function TokenInstead({ onDone }: Pick<Props, 'onDone'>) {
  const details = useRef<HTMLDetailsElement>(null);
  const opened = (): void => {
    if (details.current?.open === true) details.current.querySelector('input')?.focus();
  };
  return (
    <details ref={details} onToggle={opened}>
      <summary className="cursor-pointer text-soft">I have the administrator&apos;s token</summary>
      <div className="pt-3">
        <SignIn isFirst={false} {...(onDone !== undefined && { onDone })} />
      </div>
    </details>
  );
}
