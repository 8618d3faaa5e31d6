import type { ConfigProblem } from '../../../src/config/problems.ts';
import type { ConfigRefused } from '../../../src/config/config-control.ts';
import type { Refused } from '../../kit/api.ts';
import { Notice } from '../../kit/notice.tsx';
import { sentence } from '../../kit/words.ts';

const titles: Readonly<Record<ConfigRefused['code'], string>> = {
  revision_conflict: 'Another one came into use meanwhile',
  file_changed: 'Somebody has edited the file itself',
  config_invalid: 'svc could not run it any more',
  secret_missing: 'A variable that it names is not set where svc runs',
  restart_required: 'It needs a restart',
  would_lock_out: 'It would lock you out',
  rolled_back: 'It could not be taken into use',
  config_refused_by_instance: 'Not every svc on the database can use it',
  not_saved: 'It could not be saved',
};

/** Why the service did not restore an earlier configuration. The one in use stays. */
export function NotRestored({ refused }: { readonly refused: Refused }) {
  const { code, detail, extra } = refused;
  const title = code in titles ? titles[code as ConfigRefused['code']] : 'It was not restored';
  const problems = errorsIn(extra['problems']);
  return (
    <Notice tone="bad">
      <h3 className="font-semibold">{title}</h3>
      {problems.length === 0 ? (
        <p className="wrap-anywhere">{detail}</p>
      ) : (
        <>
          <ul className="list-disc ps-5">
            {problems.map(({ path, message, remedy }) => (
              <li key={`${path} ${message}`} className="wrap-anywhere">
                {path === '' ? null : <code>{path}: </code>}
                {sentence(message)} {remedy}
              </li>
            ))}
          </ul>
          <p>The one in use stays.</p>
        </>
      )}
    </Notice>
  );
}

function errorsIn(problems: unknown): readonly ConfigProblem[] {
  if (!Array.isArray(problems)) return [];
  return (problems as ConfigProblem[]).filter(({ severity }) => severity === 'error');
}
