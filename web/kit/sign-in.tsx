import { useState, type FormEvent } from 'react';
import { ask } from './api.ts';
import { Button } from './button.tsx';
import { TextField } from './field.tsx';
import { useToken } from './token.ts';

/** Asks for the administrator's token and tries it; it is kept in memory alone. */
export function SignIn({ onDone }: { readonly onDone?: () => void }) {
  const signIn = useToken((state) => state.signIn);
  const [written, setWritten] = useState('');
  const [fault, setFault] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const token = written.trim();
    if (token === '') return setFault('Write the token.');
    setBusy(true);
    // A wrong bearer is refused here as well, though none is needed.
    const answer = await ask('status', { token });
    setBusy(false);
    if (answer.kind === 'refused') {
      return setFault(answer.status === 401 ? 'The service does not accept it.' : answer.detail);
    }
    signIn(token);
    onDone?.();
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-3" noValidate>
      <TextField
        id="token"
        label="Administrator token"
        type="password"
        autoComplete="off"
        spellCheck={false}
        value={written}
        onChange={(event) => setWritten(event.target.value)}
        hint="The value of the variable that admin.token_env names; this page alone keeps it."
        fault={fault}
      />
      <Button kind="main" type="submit" disabled={busy}>
        Sign in
      </Button>
    </form>
  );
}
