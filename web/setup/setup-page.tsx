import { useCallback, useEffect, useLayoutEffect, useRef, useState, type ReactNode } from 'react';
import { stepNames, type Page, type StepName, type Work } from '../../apps/setup/setup.ts';
import { useApplication, wayOn } from '../kit/application.ts';
import { useArrival } from '../kit/arrival.ts';
import { ButtonLink } from '../kit/button.tsx';
import { ComeBack } from '../kit/come-back.tsx';
import { focusOn, useFocusKept } from '../kit/focus.ts';
import { Notice } from '../kit/notice.tsx';
import { useToken } from '../kit/token.ts';
import { useSession } from './session.ts';
import { StepForm } from './step-form.tsx';
import { StepLines } from './step-lines.tsx';
import { useNow } from '../kit/use-now.ts';
import { lasted } from '../kit/words.ts';

/** The page of the first run: one step at a time, as the service gives it. */
export function SetupPage() {
  const arrival = useArrival(({ now }) => now);
  const token = useToken((state) => state.token);
  switch (arrival.kind) {
    case 'in':
      return token === null ? <SignedOut why={null} /> : <Way />;
    case 'entering':
      return <Outline>{null}</Outline>;
    case 'out':
      return <SignedOut why={arrival.why} />;
    default:
      return arrival satisfies never;
  }
}

const heading = 'step';
const home = (): HTMLElement | null => document.getElementById(heading);

function Way() {
  const { state, lost, answer } = useSession();
  useFocusKept(home);
  const isLast = state?.page.step === 'last';
  useUnloadAsked(state !== null && !isLast && lost === null);
  return (
    <Outline page={state?.page}>
      {lost === null ? null : <Lost why={lost} />}
      {state === null ? null : (
        <Shown key={keyOf(state.page)}>
          <Heading title={state.page.title} />
          <StepLines lines={state.page.lines} />
          {state.page.work === null ? null : <Working work={state.page.work} />}
          <StepForm
            key={askedOf(state.page)}
            page={state.page}
            onAnswer={(given) => answer(given, state.revision)}
          />
          {state.goesOn ? <GoOn /> : null}
        </Shown>
      )}
    </Outline>
  );
}

/** The application's own page continues, and opens the service once it runs. */
function GoOn() {
  const page = useApplication((state) => state.page);
  if (page === null) return null;
  return (
    <p>
      <ButtonLink kind="main" href={wayOn(page)}>
        Go on to svc
      </ButtonLink>
    </p>
  );
}

/** The time without an answer before the page leaves. */
const lostMs = 1_500;

/** Goes to the application's own page, which explains the end and returns to the first run. */
function Lost({ why }: { readonly why: string }) {
  const page = useApplication((state) => state.page);
  useEffect(() => {
    if (page === null) return undefined;
    const timer = setTimeout(() => location.replace(wayOn(page)), lostMs);
    return () => clearTimeout(timer);
  }, [page]);
  if (page === null) return <Notice tone="bad">{why}</Notice>;
  return (
    <Notice tone="bad">
      svc does not answer. <a href={page}>The page of this application</a> says why.
    </Notice>
  );
}

/** Pages of one step with the same title are one place with changing content. */
const keyOf = ({ step, title }: Page): string => `${step} ${title}`;

/** Typed text stays while the fields and choices are the same. */
const askedOf = ({ fields, choices }: Page): string =>
  [...fields.map(({ name }) => name), '', ...choices.map(({ id }) => id)].join(' ');

function Shown({ children }: { readonly children: ReactNode }) {
  return (
    <section aria-labelledby={heading} className="flex min-w-0 flex-col gap-4">
      {children}
    </section>
  );
}

/** The heading of a new step, which gets the focus, so that screen readers read it. */
function Heading({ title }: { readonly title: string }) {
  const element = useRef<HTMLHeadingElement>(null);
  // Before the first paint: later it would take the focus from a button that the person reached.
  useLayoutEffect(() => {
    focusOn(element.current);
    document.title = `${title} – svc`;
  }, [title]);
  return (
    <h2 id={heading} ref={element} tabIndex={-1} className="text-xl outline-none">
      {title}
    </h2>
  );
}

/** Asks before a reload, since the page would lose its token. */
function useUnloadAsked(isAsked: boolean): void {
  const hold = useCallback((event: BeforeUnloadEvent) => event.preventDefault(), []);
  useEffect(() => {
    if (!isAsked) return undefined;
    addEventListener('beforeunload', hold);
    return () => removeEventListener('beforeunload', hold);
  }, [isAsked, hold]);
}

function SignedOut({ why }: { readonly why: string | null }) {
  return (
    <Outline>
      <section aria-labelledby={heading} className="flex flex-col gap-4">
        <Heading title="This page is not signed in" />
        {why === null ? null : <Notice tone="bad">{why}</Notice>}
        <HowToComeBack />
      </section>
    </Outline>
  );
}

function HowToComeBack() {
  const isThere = useApplication((state) => state.isThere);
  if (isThere) {
    return (
      <>
        <p>
          The first run goes on where it is: nothing of it is lost. A page that is loaded again, or
          opened by itself, does not know you; svc can open one that does.
        </p>
        <ComeBack />
      </>
    );
  }
  return (
    <p>
      The first run goes on where it is: nothing of it is lost. A page that is loaded again, or
      opened from a bookmark, is not let in. For a new one press Enter in the terminal where{' '}
      <code>svc init</code> runs.
    </p>
  );
}

function Outline({
  page,
  children,
}: {
  readonly page?: Page | undefined;
  readonly children: ReactNode;
}) {
  return (
    <div className="mx-auto flex min-h-screen max-w-3xl flex-col">
      <header className="flex flex-col gap-2 border-b border-line px-4 py-3">
        <h1 className="text-lg">svc: the first run</h1>
        {page === undefined ? null : <Progress step={page.step} />}
      </header>
      <main id="main" tabIndex={-1} className="flex flex-1 flex-col gap-4 px-4 py-6 outline-none">
        {children}
      </main>
    </div>
  );
}

const labels: Readonly<Record<StepName, string>> = {
  file: 'File',
  model: 'Model',
  answer: 'First answer',
  channel: 'Channel',
  secrets: 'Secrets',
  access: 'Who may talk',
  write: 'Write and start',
  first_message: 'First message',
  last: 'Done',
};

/** The steps, with the present one marked. */
function Progress({ step }: { readonly step: StepName }) {
  const now = stepNames.indexOf(step);
  return (
    <nav aria-label="Steps">
      <ol className="flex list-none flex-wrap gap-x-3 gap-y-1 text-sm">
        {stepNames.map((name, index) => (
          <li
            key={name}
            aria-current={name === step ? 'step' : undefined}
            className="inline-flex items-center gap-1.5 text-soft aria-[current=step]:font-semibold aria-[current=step]:text-ink"
          >
            <span
              aria-hidden="true"
              className={`inline-block size-2.5 rounded-full border-2 ${index < now ? 'border-good bg-good' : index === now ? 'border-accent bg-accent' : 'border-edge'} forced-colors:border-[CanvasText]`}
            />
            {labels[name]}
            {index < now ? <span className="sr-only"> (passed)</span> : null}
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** The running work. The seconds are hidden from screen readers, which would read each of them. */
function Working({ work: { text, slow } }: { readonly work: Work }) {
  const now = useNow();
  const [since] = useState(now);
  const isSlow = slow !== null && now - since >= slow.afterMs;
  return (
    <div className="rounded-md border-s-4 border-wait bg-wait-ground px-3 py-2">
      <div role="status">
        <p>{text}</p>
        {isSlow ? <p>{slow.text}</p> : null}
      </div>
      <p aria-hidden="true" className="text-sm text-soft">
        {lasted(since, now)}
      </p>
    </div>
  );
}
