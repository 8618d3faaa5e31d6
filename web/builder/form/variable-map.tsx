import { useState } from 'react';
import { formatFault } from '../../../src/config/formats.ts';
import type { MapField } from '../../../src/config/field.ts';
import { Button } from '../../kit/button.tsx';
import { inputLook } from '../../kit/field.tsx';
import { variableName } from '../document/fields.ts';
import { useDraft } from '../document/store.ts';
import { isObject } from '../document/value.ts';
import { idOf } from '../shell/going.ts';
import { useProblems, useValue } from './at.ts';
import { Row, type InputProps } from './row.tsx';
import { SecretInput } from './secret-input.tsx';

/** Variables of another program, each with the name of the variable of svc that has its value. */
export function VariableMap({ path, field, required }: InputProps<MapField>) {
  const value = useValue(path);
  const problems = useProblems(path);
  const [written, setWritten] = useState('');
  const keys = isObject(value) ? Object.keys(value) : [];
  const isFit = formatFault('env', written) === null && !keys.includes(written);
  const add = (): void => {
    if (!isFit) return;
    useDraft.getState().edit([...path, written], written);
    setWritten('');
  };
  return (
    <Row path={path} field={field} required={required} problems={problems} group>
      {keys.map((key) => (
        <div key={key} className="flex flex-col gap-1 border-s-2 border-line ps-3">
          <SecretInput path={[...path, key]} field={variableName} required />
          <div>
            <Button small kind="quiet" onClick={() => useDraft.getState().remove([...path, key])}>
              Remove {key}
            </Button>
          </div>
        </div>
      ))}
      <div className="flex flex-wrap items-center gap-1.5">
        <input
          id={idOf(path)}
          type="text"
          autoComplete="off"
          spellCheck={false}
          aria-label="The variable as the program knows it"
          value={written}
          onChange={(event) => setWritten(event.target.value.trim())}
          className={inputLook}
        />
        <Button small disabled={!isFit} onClick={add}>
          Add a variable
        </Button>
      </div>
    </Row>
  );
}
