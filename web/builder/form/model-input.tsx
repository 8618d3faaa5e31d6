/** The name of a model, chosen from the list that its provider gives, or typed. */
import { useState } from 'react';
import type { ModelList } from '../../../src/admin/config-trials.ts';
import { ask } from '../../kit/api.ts';
import { visible } from '../../kit/visible.ts';
import { useDraft } from '../document/store.ts';
import { valueAt } from '../document/value.ts';
import { idOf } from '../shell/going.ts';
import { TextInput } from './inputs.tsx';
import { hintOf } from './words.tsx';
import type { InputProps } from './row.tsx';

type Listed = ModelList & { readonly of: string };

/** Asks for the list when somebody comes to the input, once for each provider. */
export function ModelInput(props: InputProps) {
  const { path, field } = props;
  const provider = useDraft(({ document }) => {
    const at = (key: string) => valueAt(document, [...path.slice(0, -1), key]) ?? null;
    const [base_url, api_key_env] = [at('base_url'), at('api_key_env')];
    return JSON.stringify({ provider: at('provider'), base_url, api_key_env });
  });
  const [listed, setListed] = useState<Listed | null>(null);
  const isCurrent = listed?.of === provider;
  const list = async (): Promise<void> => {
    if (isCurrent && listed.reason === null) return;
    const body = JSON.parse(provider) as unknown;
    const answer = await ask<ModelList>('config/models', { method: 'POST', body });
    const none = answer.kind === 'refused' ? { names: [], reason: answer.detail } : answer.value;
    setListed({ ...none, of: provider });
  };
  const id = `${idOf(path)}-models`;
  return (
    <>
      <TextInput
        {...props}
        list={id}
        onEnter={() => void list()}
        hint={
          <>
            {hintOf(field)} {isCurrent ? <Offer {...listed} /> : null}
          </>
        }
      />
      <datalist id={id}>
        {(isCurrent ? listed.names : []).map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </datalist>
    </>
  );
}

function Offer({ names, reason }: ModelList) {
  if (reason !== null) return <>Type the name, since the provider lists none: {visible(reason)}</>;
  const [first] = names;
  return names.length === 1 ? <>It has {visible(first!)}.</> : <>It has {names.length} models.</>;
}
