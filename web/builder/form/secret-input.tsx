import { useId, useState } from 'react';
import type { SecretPresence } from '../../../src/admin/secret-control.ts';
import { channelKinds } from '../../../src/channels/registry.ts';
import { formatFault } from '../../../src/config/formats.ts';
import { inputLook } from '../../kit/field.tsx';
import { Button } from '../../kit/button.tsx';
import { SecretDialog } from '../../kit/secret-dialog.tsx';
import { SourceBadge } from '../../kit/secret-source.tsx';
import { useDraft } from '../document/store.ts';
import { wordOf } from '../document/value.ts';
import { useProblems, useValue } from './at.ts';
import { askAgain, namesIn, usePresence } from './presence.ts';
import { aboutOf, Row, type InputProps } from './row.tsx';
import { idOf } from '../shell/going.ts';
import { keyOf } from './words.tsx';

const usual: Readonly<Record<string, readonly string[]>> = {
  api_key_env: ['OPENAI_API_KEY', 'GROQ_API_KEY', 'OPENROUTER_API_KEY', 'MISTRAL_API_KEY'],
  token_env: [
    ...channelKinds.map(({ token }) => token.variable),
    'ADMIN_TOKEN',
    'COMPLETIONS_TOKEN',
  ],
  outbound_signing_env: ['REPLY_SIGNING_KEY'],
  outbound_token_env: ['REPLY_SECRET'],
  url_env: ['DATABASE_URL'],
};

/**
 * The name of a variable. The text becomes part of the draft on blur, but never if it may be a
 * secret: the browser stores drafts, and must not store secrets.
 */
export function SecretInput({ path, field, required }: InputProps) {
  const value = useValue(path);
  const problems = useProblems(path);
  const [written, setWritten] = useState<string | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const names = useDraft((state) => namesIn(state.document).join(' '));
  const list = useId();
  const stands = value === null ? '' : wordOf(value);
  const suggestions = new Set([...names.split(' '), ...(usual[keyOf(path)] ?? [])]);
  const take = (): void => {
    if (written === null) return;
    const name = written.trim();
    setWritten(null);
    const fault = name === '' ? null : formatFault('env', name);
    setRefused(fault === null ? null : `${fault.message} ${fault.remedy}`);
    if (fault !== null || name === stands) return;
    const draft = useDraft.getState();
    if (name === '' && !required) draft.remove(path);
    else draft.edit(path, name);
  };
  const about = aboutOf(path, problems);
  return (
    <Row
      path={path}
      field={field}
      required={required}
      problems={problems}
      aside={<VariableSource name={stands} byHand={path.join('.') === 'admin.token_env'} />}
    >
      <input
        {...about}
        aria-describedby={`${about['aria-describedby']} ${idOf(path)}-refused`}
        type="text"
        list={list}
        autoComplete="off"
        spellCheck={false}
        value={written ?? stands}
        onChange={(event) => setWritten(event.target.value)}
        onBlur={take}
        onKeyDown={(event) => {
          if (event.key === 'Enter') take();
          if (event.key === 'Escape') setWritten(null);
          // Text outside the draft is undone in the input itself.
          if (written !== null && (event.ctrlKey || event.metaKey)) event.stopPropagation();
        }}
        className={`${inputLook} font-mono`}
      />
      <datalist id={list}>
        {[...suggestions]
          .filter((name) => name !== '')
          .map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
      </datalist>
      <p id={`${idOf(path)}-refused`} role="alert" className="text-sm text-bad empty:hidden">
        {refused === null ? null : `Not taken: ${refused}`}
      </p>
    </Row>
  );
}

type VariableSourceProps = {
  readonly name: string;
  /** True: the service takes this value from no page, since it opens this page. */
  readonly byHand: boolean;
};

/** Where the service finds the variable, and how to set its value, which no draft holds. */
function VariableSource({ name, byHand }: VariableSourceProps) {
  const presence = usePresence((state) => state.known.get(name));
  const [asked, setAsked] = useState<SecretPresence | null>(null);
  if (presence === undefined) return null;
  const word = presence.inKeychain ? 'Replace' : 'Set';
  return (
    <span className="flex flex-wrap items-center gap-x-2 text-sm">
      <SourceBadge source={presence.source} />
      {byHand ? null : (
        <Button small aria-label={`${word} ${name}`} onClick={() => setAsked(presence)}>
          {word} …
        </Button>
      )}
      {asked === null ? null : (
        <SecretDialog presence={asked} onClose={() => setAsked(null)} onDone={askAgain} />
      )}
    </span>
  );
}
