import { useEffect } from 'react';
import { Button } from '../../kit/button.tsx';
import { Refusal } from '../../kit/notice.tsx';
import { ThemeSwitch } from '../../kit/theme-switch.tsx';
import { useToken } from '../../kit/token.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { redo, undo, useDraft, useHistory, type Base } from '../document/store.ts';
import { Tabs, useView } from './tabs.tsx';

/** Loads the configuration in use, and shows the draft of it. */
export function Shell() {
  const { value, refused } = useAsked<Base>('config');
  const base = useDraft((state) => state.base);
  useEffect(() => {
    if (value !== null && useDraft.getState().base === null) useDraft.getState().open(value);
  }, [value]);
  if (base !== null) return <Desk />;
  return (
    <main className="p-4">
      <h1 className="text-xl">svc builder</h1>
      {refused === null ? <p className="text-soft">Asking …</p> : <Refusal refused={refused} />}
    </main>
  );
}

function Desk() {
  const view = useView();
  const Shown = view.shows;
  return (
    <div className="flex h-screen flex-col">
      <Head />
      <main className="flex min-h-0 flex-1 flex-col">
        <Tabs />
        <div
          role="tabpanel"
          id="view"
          aria-labelledby={`tab-${view.name}`}
          className="min-h-0 flex-1 overflow-auto"
        >
          <Shown />
        </div>
      </main>
    </div>
  );
}

function Head() {
  const { past, future } = useHistory();
  const signOut = useToken((state) => state.signOut);
  return (
    <header className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
      <h1 className="text-lg">svc builder</h1>
      <Button small disabled={past === 0} onClick={undo}>
        Undo
      </Button>
      <Button small disabled={future === 0} onClick={redo}>
        Redo
      </Button>
      <ThemeSwitch />
      <Button small onClick={signOut}>
        Sign out
      </Button>
    </header>
  );
}
