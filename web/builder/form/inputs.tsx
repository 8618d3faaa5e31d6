/** Inputs for texts, numbers, names and yes or no. */
import { useRef, type ChangeEvent, type ReactNode } from 'react';
import type { ChoiceField, DecimalField, IntegerField } from '../../../src/config/field.ts';
import { inputLook } from '../../kit/field.tsx';
import { meant } from '../document/fields.ts';
import { textOf } from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';
import { wordOf } from '../document/value.ts';
import { isAbsent, useProblems, useValue } from './at.ts';
import { aboutOf, Row, type InputProps } from './row.tsx';
import { keyOf, meaningOf, placeholderOf } from './words.tsx';

/** Fields with a text of several lines. */
const longKeys = new Set(['system_prompt']);

type TextProps = InputProps & {
  /** Called when the input gets the focus. */
  readonly onEnter?: () => void;
  /** The id of a `datalist` with values to choose from. */
  readonly list?: string;
  /** Called when the input loses the focus; `before` is its text when it got the focus. */
  readonly onLeave?: (before: string) => void;
  /** Replaces the schema's description. */
  readonly hint?: ReactNode;
};

/** A text. An empty text stays while the person types; on blur it is removed from the file. */
export function TextInput(props: TextProps) {
  const { path, field, required, onEnter, list, onLeave, hint } = props;
  const value = useValue(path);
  const problems = useProblems(path);
  const group = textOf(path);
  const before = useRef('');
  const shared = {
    ...aboutOf(path, problems),
    value: value === null ? '' : wordOf(value),
    placeholder: placeholderOf(field),
    spellCheck: longKeys.has(keyOf(path)),
    onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) =>
      useDraft.getState().edit(path, event.target.value, group),
    onFocus: () => {
      before.current = wordOf(value);
      onEnter?.();
    },
    onBlur: () => {
      if (value === '' && !required) useDraft.getState().remove(path, group);
      onLeave?.(before.current);
    },
  };
  return (
    <Row path={path} field={field} required={required} problems={problems} hint={hint}>
      {longKeys.has(keyOf(path)) ? (
        <textarea rows={5} className={inputLook} {...shared} />
      ) : (
        <input type="text" autoComplete="off" list={list} className={inputLook} {...shared} />
      )}
    </Row>
  );
}

/** A whole number. Other text stays as written, with the problem that says so. */
export function IntegerInput(props: InputProps<IntegerField>) {
  return <NumberInput {...props} inputMode="numeric" isNumber={isWhole} />;
}

/** A number with or without a fraction. */
export function DecimalInput(props: InputProps<DecimalField>) {
  return <NumberInput {...props} inputMode="decimal" isNumber={isDecimal} />;
}

const isWhole = (written: string): boolean => /^-?(?:0|[1-9]\d{0,14})$/.test(written);
const isDecimal = (written: string): boolean =>
  /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,12})?$/.test(written);

type NumberProps = InputProps & {
  readonly inputMode: 'numeric' | 'decimal';
  readonly isNumber: (written: string) => boolean;
};

/** While the person types, an unfinished number (`0.10`) stays a text. */
function NumberInput({ path, field, required, inputMode, isNumber }: NumberProps) {
  const value = useValue(path);
  const problems = useProblems(path);
  const group = textOf(path);
  /** Focus and blur without typing leave the text as it is. */
  const isTyped = useRef(false);
  const write = (written: string, isLeft: boolean): void => {
    const isSame = isLeft || String(Number(written)) === written;
    const typed = isNumber(written) && isSame ? Number(written) : written;
    useDraft.getState().edit(path, typed, group);
  };
  return (
    <Row path={path} field={field} required={required} problems={problems}>
      <input
        {...aboutOf(path, problems)}
        type="text"
        inputMode={inputMode}
        autoComplete="off"
        value={value === null ? '' : wordOf(value)}
        placeholder={placeholderOf(field)}
        onChange={(event) => {
          isTyped.current = true;
          write(event.target.value.trim(), false);
        }}
        onBlur={() => {
          if (value === '' && !required) useDraft.getState().remove(path, group);
          else if (isTyped.current && typeof value === 'string' && isNumber(value)) {
            write(value, true);
          }
          isTyped.current = false;
        }}
        className={`${inputLook} max-w-48 tabular-nums`}
      />
    </Row>
  );
}

/** One of several names. A synonym shows as its meaning, and stays as written until changed. */
export function ChoiceInput({ path, field, required, only }: InputProps<ChoiceField>) {
  const value = useValue(path);
  const known = meant(field, value);
  const names = only === undefined ? field.names : field.names.filter((name) => name === only);
  return (
    <SelectInput
      path={path}
      field={field}
      required={required}
      chosen={isAbsent(value) ? '' : (known ?? wordOf(value))}
      options={names.map((name) => ({ value: name, label: meaningOf(name) }))}
      onChoose={(name) => useDraft.getState().edit(path, name)}
    />
  );
}

export function BooleanInput({ path, field, required }: InputProps) {
  const value = useValue(path);
  const options = [
    { value: 'true', label: 'yes' },
    { value: 'false', label: 'no' },
  ];
  return (
    <SelectInput
      path={path}
      field={field}
      required={required}
      chosen={isAbsent(value) ? '' : wordOf(value)}
      options={options}
      onChoose={(name) => useDraft.getState().edit(path, name === 'true')}
    />
  );
}

type SelectProps = InputProps & {
  readonly chosen: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly onChoose: (value: string) => void;
};

export function SelectInput({ path, field, required, chosen, options, onChoose }: SelectProps) {
  const problems = useProblems(path);
  const isKnown = chosen === '' || options.some(({ value }) => value === chosen);
  const standard = placeholderOf(field);
  const none = required ? 'Choose …' : standard === '' ? 'not set' : `not set (${standard})`;
  return (
    <Row path={path} field={field} required={required} problems={problems}>
      <select
        {...aboutOf(path, problems)}
        value={chosen}
        onChange={({ target }) => {
          if (target.value === '') useDraft.getState().remove(path);
          else onChoose(target.value);
        }}
        className={inputLook}
      >
        {required && chosen !== '' ? null : <option value="">{none}</option>}
        {isKnown ? null : <option value={chosen}>{chosen} (not allowed here)</option>}
        {options.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </Row>
  );
}
