import { useApplication } from '../../kit/application.ts';
import { useArrival } from '../../kit/arrival.ts';
import { Button } from '../../kit/button.tsx';
import { PageLink } from '../../kit/page-link.tsx';
import { goTo } from '../../kit/place.ts';
import { State } from '../../kit/state.tsx';
import { ThemeSwitch } from '../../kit/theme-switch.tsx';
import { some } from '../../kit/words.ts';
import { isDirty, redo, undo, useDraft, useHistory } from '../document/store.ts';
import { signOut } from './leaving.tsx';
import { openOverlay } from './overlay.ts';
import { useView } from './tabs.tsx';

/** The name of the file, whether the draft has changes, and the way back. */
export function Head() {
  const { past, future } = useHistory();
  const base = useDraft((state) => state.base);
  const problems = useDraft((state) => state.problems.length);
  const view = useView();
  const dirty = useDraft(isDirty);
  return (
    <header className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line bg-card px-3 py-2">
      <h1 className="text-lg">svc builder</h1>
      <p className="min-w-0 text-sm">
        {base?.place === 'database' ? (
          <span className="text-soft">In the database, for every svc on it</span>
        ) : (
          <code className="break-all text-soft">{base?.file ?? ''}</code>
        )}{' '}
        <span id="draft-state">
          {dirty ? (
            <State tone="wait">changed, not applied</State>
          ) : (
            <State tone="good">as in use</State>
          )}
        </span>
      </p>
      {dirty && view.name !== 'review' ? (
        <Button small kind="main" onClick={() => goTo({ view: 'review' })}>
          Review and apply …
        </Button>
      ) : null}
      <div className="ms-auto flex flex-wrap items-center gap-1.5">
        <a href="#problems-title" className="text-sm lg:hidden">
          {some(problems, 'problem')}
        </a>
        <Button small disabled={past === 0} onClick={undo} title="Ctrl Z">
          Undo
        </Button>
        <Button small disabled={future === 0} onClick={redo} title="Ctrl Shift Z">
          Redo
        </Button>
        <Button small onClick={() => openOverlay('palette')} title="Ctrl K">
          Go to …
        </Button>
        <Button small onClick={() => openOverlay('keys')} title="?">
          Keys
        </Button>
        <ThemeSwitch />
        <Elsewhere />
      </div>
    </header>
  );
}

/** Links to other pages. In the application there is no sign-out: a person closes its window. */
function Elsewhere() {
  const page = useApplication((state) => state.page);
  const isHanded = useArrival(({ now }) => now.kind === 'in' && now.how === 'handed');
  return (
    <>
      {isHanded ? null : (
        <Button small onClick={signOut}>
          Sign out
        </Button>
      )}
      <PageLink href="/ui" className="px-1 text-sm">
        Live view
      </PageLink>
      {page === null ? null : (
        <a href={page} rel="noreferrer" className="px-1 text-sm">
          This application
        </a>
      )}
    </>
  );
}
