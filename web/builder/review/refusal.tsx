/** Words and next steps for each reason why svc refuses a configuration. */
import type { ReactNode } from 'react';
import type { ConfigProblem } from '../../../src/config/problems.ts';
import type { Refused } from '../../kit/api.ts';
import { Notice } from '../../kit/notice.tsx';
import { useDraft } from '../document/store.ts';
import { withPlaces } from '../outline/place-words.ts';
import { GoTo } from './go-to.tsx';
import { HandEdit } from './hand-edit.tsx';
import { LookAgain } from './look-again.tsx';
import { NeedsRestart } from './needs-restart.tsx';

type Props = {
  readonly refused: Refused;
  /** The text that was to be taken into use. */
  readonly sent: string;
};

/**
 * Why the service refused a configuration, and the next step. The service continues with the former
 * one.
 */
export function NotApplied({ refused, sent }: Props) {
  const document = useDraft((state) => state.document);
  const { title, next } = adviceFor(refused, sent);
  return (
    <Notice tone="bad">
      <h2 className="font-semibold">{title}</h2>
      <p className="break-words whitespace-pre-line">
        {withPlaces(shownDetail(refused), document)}
      </p>
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

export const titleOf = (refused: Refused): string => adviceFor(refused, '').title;

type Advice = { readonly title: string; readonly next: ReactNode };

const stays = 'Nothing was changed: the configuration before runs on.';

function adviceFor({ code, status, extra }: Refused, sent: string): Advice {
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
      return { title: 'This needs a restart', next: <FieldsByHand fields={extra['fields']} /> };
    case 'would_lock_out':
      return { title: 'It would lock you out', next: null };
    case 'file_changed':
      return {
        title: 'Somebody has edited the file itself',
        next: <HandEdit sent={sent} />,
      };
    case 'config_refused_by_instance':
      return { title: 'Not every svc on the database can use it', next: null };
    case 'revision_conflict':
      return { title: 'Somebody else has applied another one', next: <LookAgain /> };
    case 'not_saved':
      return { title: 'It could not be saved', next: null };
    default:
      if (status === 401) return { title: 'You are signed out', next: null };
      if (status === 0) return { title: 'The service did not answer', next: <LookAgain /> };
      return { title: 'It was not applied', next: null };
  }
}

/**
 * Leaves out the sentence that joins the problems if each problem is listed, and the advice for
 * programs if there is a button for it.
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

/** Fields of the process, and fields that the service accepts only from the file itself. */
function FieldsByHand({ fields }: { readonly fields: unknown }) {
  const base = useDraft((state) => state.base);
  if (base === null || !Array.isArray(fields)) return null;
  return <NeedsRestart base={base} fields={fields as readonly string[]} />;
}
