import { useId, useRef, useState, type FormEvent } from 'react';
import type { Answer, Choice, Field, Page } from '../../apps/setup/setup.ts';
import { Button } from '../kit/button.tsx';
import { TextField } from '../kit/field.tsx';
import { Notice } from '../kit/notice.tsx';

type Props = {
  readonly page: Page;
  /** @returns why the service refused it; null: it accepted it */
  readonly onAnswer: (answer: Answer) => Promise<string | null>;
};

const charactersMax = 4_096;

/** The fields and buttons of a page. */
export function StepForm({ page: { fields, choices }, onAnswer }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  const [faults, setFaults] = useState<Faults>({});
  const [refused, setRefused] = useState<string | null>(null);
  const [isSent, setSent] = useState(false);
  // The button that the Enter key presses.
  const first = (choices.find(({ takes }) => takes.length > 0) ?? choices[0])?.id;
  if (first === undefined) return null;
  const inputOf = (name: string): HTMLInputElement | null => {
    const input = form.current?.elements.namedItem(name);
    return input instanceof HTMLInputElement ? input : null;
  };
  const take = async (choice: Choice): Promise<void> => {
    if (isSent) return;
    const taken = fields.filter(({ name }) => choice.takes.includes(name));
    const written = taken.map((field) => [field.name, inputOf(field.name)?.value ?? ''] as const);
    const found = faultsOf(taken, new Map(written));
    setFaults(found);
    const [missing] = Object.keys(found);
    if (missing !== undefined) return inputOf(missing)?.focus();
    setSent(true);
    const answer = onAnswer({ choice: choice.id, fields: Object.fromEntries(written) });
    // From here on the page holds no secret that was typed, whatever the answer is.
    for (const { name } of fields.filter(({ kind }) => kind === 'secret')) {
      const input = inputOf(name);
      if (input !== null) input.value = '';
    }
    setRefused(await answer);
    setSent(false);
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const choice = choices.find(({ id: other }) => other === first);
    if (choice !== undefined) void take(choice);
  };
  return (
    <form ref={form} onSubmit={submit} noValidate className="flex flex-col gap-4">
      {fields.map((field) => (
        <Asked
          key={field.name}
          field={field}
          id={`${id}-${field.name}`}
          fault={faults[field.name]}
        />
      ))}
      {refused === null ? null : <Notice tone="bad">{refused}</Notice>}
      <Choices
        choices={choices}
        first={first}
        isSent={isSent}
        onTake={(choice) => void take(choice)}
      />
    </form>
  );
}

type Faults = Readonly<Record<string, string>>;

function faultsOf(fields: readonly Field[], written: ReadonlyMap<string, string>): Faults {
  const faults = fields.flatMap((field): (readonly [string, string])[] => {
    const fault = faultOf(field, written.get(field.name) ?? '');
    return fault === null ? [] : [[field.name, fault]];
  });
  return Object.fromEntries(faults);
}

function faultOf({ isOptional }: Field, text: string): string | null {
  if (text.trim() === '' && !isOptional) return 'Fill this in.';
  return text.length > charactersMax ? `It is longer than ${charactersMax} characters.` : null;
}

type AskedProps = {
  readonly field: Field;
  readonly id: string;
  readonly fault: string | undefined;
};

/** Only the input holds the text, not React, so emptying it leaves no copy. */
function Asked({ field: { name, label, kind, value, isOptional }, id, fault }: AskedProps) {
  const isSecret = kind === 'secret';
  const hints = [
    isOptional ? 'It may stay empty.' : '',
    isSecret ? 'It is shown nowhere, and this page forgets it once it is sent.' : '',
  ];
  return (
    <TextField
      id={id}
      name={name}
      label={label}
      type={isSecret ? 'password' : 'text'}
      defaultValue={isSecret ? '' : value}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
      hint={hints.join(' ').trim()}
      fault={fault}
    />
  );
}

type ChoicesProps = {
  readonly choices: readonly Choice[];
  /** The id of the choice that submits the form. */
  readonly first: string;
  readonly isSent: boolean;
  readonly onTake: (choice: Choice) => void;
};

/** Main choices first, one below the other; the alternatives are in one row below. */
function Choices({ choices, first, isSent, onTake }: ChoicesProps) {
  const forward = choices.filter(({ role }) => role === 'forward');
  const around = choices.filter(({ role }) => role !== 'forward');
  const taking = (choice: Choice) => ({
    choice,
    isSent,
    onTake: choice.id === first ? null : () => onTake(choice),
  });
  return (
    <div className="flex flex-col gap-4">
      {forward.length === 0 ? null : (
        <div className="flex flex-col items-start gap-3">
          {forward.map((choice, index) => (
            <Taken key={choice.id} {...taking(choice)} isMain={index === 0} />
          ))}
        </div>
      )}
      {around.length === 0 ? null : (
        <div className="flex flex-wrap items-start gap-3 border-t border-line pt-3">
          {around.map((choice) => (
            <Taken key={choice.id} {...taking(choice)} isMain={false} />
          ))}
        </div>
      )}
    </div>
  );
}

type TakenProps = {
  readonly choice: Choice;
  readonly isMain: boolean;
  readonly isSent: boolean;
  /** null: the button submits the form. */
  readonly onTake: (() => void) | null;
};

function Taken({ choice: { label, hint, role }, isMain, isSent, onTake }: TakenProps) {
  const id = useId();
  const kind = isMain ? 'main' : role === 'forward' ? 'plain' : 'quiet';
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <Button
        kind={kind}
        {...(onTake === null ? { type: 'submit' } : { onClick: onTake })}
        aria-disabled={isSent}
        aria-describedby={hint === null ? undefined : id}
        className="max-w-full self-start text-start wrap-anywhere"
      >
        {label}
      </Button>
      {hint === null ? null : (
        <p id={id} className="text-sm text-soft">
          {hint}
        </p>
      )}
    </div>
  );
}
