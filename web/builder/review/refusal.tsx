import type { ReactNode } from 'react';
import type { ConfigProblem } from '../../../src/config/config.ts';
import type { Refused } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { Notice } from '../../kit/notice.tsx';
import { useDraft } from '../document/store.ts';
import { signInAgain } from '../shell/leaving.tsx';
import { apply, lookAgain } from './applying.ts';
import { GoTo } from './go-to.tsx';

/**
 * Why a configuration was not taken into use, and what comes next. The service runs on with the one
 * before.
 */
export function NotApplied({ refused }: { readonly refused: Refused }) {
  const { title, next } = adviceFor(refused);
  return (
    <Notice tone="bad">
      <h2 className="font-semibold">{title}</h2>
      <p className="break-words whitespace-pre-line">{shownDetail(refused)}</p>
      {problemsOf(refused).length === 0 ? null : (
        <ul className="my-1 ms-5 list-disc">
          {problemsOf(refused).map(({ path, message, remedy }) => (
            <li key={`${path} ${message}`}>
              <GoTo path={path} />: {message}. {remedy}
            </li>
          ))}
        </ul>
      )}
      {next}
    </Notice>
  );
}

export const titleOf = (refused: Refused): string => adviceFor(refused).title;

type Advice = { readonly title: string; readonly next: ReactNode };

const stays = 'Nothing was changed: the configuration before runs on.';

function adviceFor({ code, status, extra }: Refused): Advice {
  switch (code) {
    case 'rolled_back':
      return { title: 'It could not be taken into use; the old one runs on', next: null };
    case 'config_invalid':
      return {
        title: 'The service found problems',
        next: <p>{stays} Mend them and apply again.</p>,
      };
    case 'secret_missing':
      return {
        title: 'A variable is not set where svc runs',
        next: (
          <p>
            {stays} Secrets are read when svc starts: set the variable there and restart svc, or
            name one that is set.
          </p>
        ),
      };
    case 'restart_required':
      return { title: 'This needs a restart', next: <ByHand /> };
    case 'would_lock_out':
      return { title: 'It would lock you out', next: null };
    case 'file_changed':
      return {
        title: 'Somebody has edited the file itself',
        next: <OverTheEdit revision={extra['revision']} />,
      };
    case 'config_refused_by_instance':
      return { title: 'Not every svc on the database can use it', next: null };
    case 'revision_conflict':
      return { title: 'Somebody else has applied another one', next: <LookAgain /> };
    case 'not_saved':
      return { title: 'It could not be saved', next: null };
    default:
      if (status === 401)
        return { title: 'The service does not accept the token', next: <Again /> };
      if (status === 0) return { title: 'The service did not answer', next: <LookAgain /> };
      return { title: 'It was not applied', next: null };
  }
}

/**
 * Where each problem is listed, the sentence that strings them together is left out; where a
 * button does it, the sentence that says how a program would.
 */
function shownDetail(refused: Refused): string {
  if (refused.code === 'file_changed') return `${stays} The file is as it was edited.`;
  return problemsOf(refused).length > 0 ? '' : refused.detail;
}

function problemsOf({ extra }: Refused): readonly ConfigProblem[] {
  const { problems } = extra;
  if (!Array.isArray(problems)) return [];
  return (problems as ConfigProblem[]).filter(({ severity }) => severity === 'error');
}

/** The edit of the file is not lost: it goes into the history when the draft takes its place. */
function OverTheEdit({ revision }: { readonly revision: unknown }) {
  return (
    <div className="flex flex-wrap gap-2">
      <LookAgain />
      {typeof revision === 'string' ? (
        <Button small kind="danger" className="mt-2" onClick={() => void apply(revision)}>
          Put mine over it; the edit is kept in the history
        </Button>
      ) : null}
    </div>
  );
}

function LookAgain() {
  return (
    <Button small className="mt-2" onClick={() => void lookAgain()}>
      Look what is in use now
    </Button>
  );
}

/** Asks for another token, where the service no longer takes this one. */
export function Again() {
  return (
    <Button small className="mt-2" onClick={signInAgain}>
      Sign in again; the draft stays
    </Button>
  );
}

/** Settings that belong to the process can only be changed in the file. */
function ByHand() {
  const text = useDraft((state) => state.text);
  const base = useDraft((state) => state.base);
  const copy = (): void => void navigator.clipboard?.writeText(text);
  return (
    <div className="mt-2 flex flex-wrap items-center gap-2">
      <Button small onClick={copy}>
        Copy the whole text
      </Button>
      <span>
        {base?.place === 'database'
          ? 'Put it where that says. '
          : `Put it into ${base?.file ?? 'the file'} on that machine, and restart svc. `}
        Or undo that part, and apply the rest.
      </span>
    </div>
  );
}
