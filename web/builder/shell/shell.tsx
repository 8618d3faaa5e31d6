import { useEffect, useRef, useMemo, useState, type MouseEvent, type RefObject } from 'react';
import { leave } from '../../kit/arrival.ts';
import { Button } from '../../kit/button.tsx';
import { loadAhead } from '../../kit/late.tsx';
import { Notice, Refusal } from '../../kit/notice.tsx';
import { SignedOut } from '../../kit/signed-out.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { WayIn } from '../../kit/ways-in.tsx';
import { useFactsAsked } from '../document/facts.ts';
import { closeDraft, openDraft, useKeepingUp } from '../document/keeping.ts';
import { useDraft, type Base } from '../document/store.ts';
import { usePresenceAsked } from '../form/presence.ts';
import { Folding } from '../outline/folding.tsx';
import { Outline } from '../outline/outline.tsx';
import { Problems } from '../problems/problems.tsx';
import { OutcomeElsewhere } from '../review/outcome.tsx';
import { useAddress } from './address.ts';
import { Announcer } from './announce.tsx';
import { Banners } from './banners.tsx';
import { Head } from './head.tsx';
import { useKeys, keys } from './keys.ts';
import { Tabs, useView } from './tabs.tsx';
import { ReviewView } from './views.ts';
import { Dialog } from '../../kit/dialog.tsx';
import { Leaving } from './leaving.tsx';
import { closeOverlay, useOverlay } from './overlay.ts';
import { ChoiceName, Choices } from '../../kit/choices.tsx';
import { commands, matchingCommands } from './commands.ts';

/** Loads the configuration in use, and shows its draft. */
export function Shell() {
  const { value, refused, again } = useAsked<Base>('config');
  const base = useDraft((state) => state.base);
  useEffect(() => {
    if (value !== null && useDraft.getState().base === null) openDraft(value);
  }, [value]);
  useEffect(() => closeDraft, []);
  // A draft can be reviewed even if svc ends meanwhile.
  useEffect(() => void loadAhead([ReviewView]), []);
  if (base !== null) return <Desk />;
  return (
    <main className="mx-auto flex min-h-screen max-w-md flex-col justify-center gap-4 px-4">
      <h1 className="text-xl">svc builder</h1>
      {refused === null ? (
        <p className="text-soft">Asking for the configuration …</p>
      ) : (
        <>
          <Refusal refused={refused} />
          <SignedOut stays={null} />
          <WayIn />
          <div className="flex gap-2">
            <Button kind="main" onClick={again}>
              Try again
            </Button>
            <Button onClick={() => leave(null)}>Sign out</Button>
          </div>
        </>
      )}
    </main>
  );
}

function Desk() {
  useKeepingUp();
  useFactsAsked();
  useKeys();
  useAddress();
  usePresenceAsked();
  return (
    <div className="flex min-h-screen flex-col lg:h-screen lg:min-h-0">
      <Skips />
      <Head />
      <Banners />
      <Elsewhere />
      <div className="grid min-h-0 flex-1 grid-cols-[minmax(0,1fr)] lg:grid-cols-[17rem_minmax(0,1fr)_19rem]">
        <aside
          aria-label="Outline"
          className="relative flex max-h-96 min-h-0 flex-col border-b border-line bg-card p-3 max-lg:py-2 lg:max-h-none lg:border-e lg:border-b-0"
        >
          <Folding>
            <Outline />
          </Folding>
        </aside>
        <Middle />
        <aside
          aria-label="Problems"
          className="relative min-h-0 overflow-y-auto border-t wrap-anywhere border-line bg-paper p-3 lg:border-s lg:border-t-0"
        >
          <Problems />
        </aside>
      </div>
      <Overlays />
      <Announcer />
    </div>
  );
}

/** Links that skip the page's header, and in the graph everything before the first node. */
function Skips() {
  const look =
    'sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:bg-card ' +
    'focus:p-2';
  const view = useView();
  return (
    <>
      <a href="#view" className={look}>
        Skip to the content
      </a>
      {view.name === 'graph' ? (
        <a href="#graph" onClick={toFirstNode} className={look}>
          Skip to the graph
        </a>
      ) : null}
    </>
  );
}

/** The graph has edges before its nodes, possibly many. */
function toFirstNode(event: MouseEvent): void {
  const node = document.querySelector<HTMLElement>('#graph .react-flow__node');
  if (node === null) return;
  event.preventDefault();
  node.focus();
}

/** The review tab shows the result itself. */
function Elsewhere() {
  return useView().name === 'review' ? null : <OutcomeElsewhere />;
}

function Middle() {
  const view = useView();
  const Shown = view.shows;
  const readable = useDraft((state) => state.readable);
  return (
    <main className="flex min-h-0 min-w-0 flex-col">
      <Tabs />
      <div
        role="tabpanel"
        id="view"
        tabIndex={-1}
        aria-labelledby={`tab-${view.name}`}
        className="relative flex min-h-0 flex-1 flex-col overflow-auto outline-none"
      >
        {readable || view.name === 'json' ? null : <Unreadable />}
        <Shown />
      </div>
    </main>
  );
}

function Unreadable() {
  return (
    <div className="p-4 pb-0">
      <Notice tone="wait">
        The text is no JSON at the moment. This is how it was when it last was, and nothing can be
        changed here until the JSON tab is in order, or the last step is undone.
      </Notice>
    </div>
  );
}

/** Dialogs that open by a key. */
function Overlays() {
  const search = useRef<HTMLInputElement>(null);
  const open = useOverlay((state) => state.open);
  return (
    <>
      <Dialog open={open === 'palette'} title="Go to, or do" onClose={closeOverlay} first={search}>
        <Palette input={search} onDone={closeOverlay} />
      </Dialog>
      <Dialog open={open === 'keys'} title="Keys" onClose={closeOverlay}>
        <p className="pb-2 text-sm text-soft">On a Mac, ⌘ in the place of Ctrl.</p>
        <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5">
          {keys.map(([key, does]) => (
            <div key={key} className="contents">
              <dt>
                <kbd className="rounded-sm border border-line bg-raised px-1.5">{key}</kbd>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
      </Dialog>
      <Leaving />
      <WayIn />
    </>
  );
}

const shownMax = 50;

type Props = {
  readonly onDone: () => void;
  /** The input, for a caller that focuses it. */
  readonly input: RefObject<HTMLInputElement | null>;
};

/** The palette: every place of the draft, and actions. */
function Palette({ onDone, input }: Props) {
  const all = useMemo(() => commands(), []);
  const [search, setSearch] = useState('');
  const choices = matchingCommands(all, search)
    .slice(0, shownMax)
    .map(({ name, note, run }) => {
      return { key: name + note, run, body: <ChoiceName name={name} note={note} /> };
    });
  return (
    <div className="flex min-h-0 flex-col gap-2">
      <Choices
        label="Go to, or do"
        input={input}
        search={search}
        onSearch={setSearch}
        groups={[{ title: null, choices }]}
        onDone={onDone}
      />
      {choices.length === 0 ? <p className="text-sm text-soft">Nothing is called so.</p> : null}
    </div>
  );
}
