/** Inputs with a label, a hint and an error. */
import type { InputHTMLAttributes, ReactNode, Ref, SelectHTMLAttributes } from 'react';
import { visible } from './visible.ts';

export const inputLook =
  'w-full min-h-9 rounded-md border border-edge bg-card px-2.5 py-1 text-ink ' +
  'placeholder:text-soft aria-invalid:border-2 aria-invalid:border-bad ' +
  'disabled:bg-raised disabled:text-soft';

type Around = {
  /** The id of the input. */
  readonly id: string;
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly fault?: ReactNode;
  readonly children: ReactNode;
};

/** Ids of the texts below an input, for its `aria-describedby`. */
export function describedBy(id: string, hint: unknown, fault: unknown): string | undefined {
  const ids = [hint ? `${id}-hint` : '', fault ? `${id}-fault` : ''].filter((one) => one !== '');
  return ids.length === 0 ? undefined : ids.join(' ');
}

/** An input with its label above, and its hint and error below. */
export function Field({ id, label, hint, fault, children }: Around) {
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children}
      {hint ? (
        <p id={`${id}-hint`} className="text-sm text-soft">
          {hint}
        </p>
      ) : null}
      {fault ? (
        <p id={`${id}-fault`} className="text-sm text-bad">
          {fault}
        </p>
      ) : null}
    </div>
  );
}

type TextProps = Omit<InputHTMLAttributes<HTMLInputElement>, 'id'> &
  Omit<Around, 'children'> & { readonly ref?: Ref<HTMLInputElement> };

export function TextField({ id, label, hint, fault, className = '', ...rest }: TextProps) {
  return (
    <Field id={id} label={label} hint={hint} fault={fault}>
      <input
        id={id}
        aria-describedby={describedBy(id, hint, fault)}
        aria-invalid={fault ? true : undefined}
        className={`${inputLook} ${className}`}
        {...rest}
      />
    </Field>
  );
}

type SelectProps = Omit<SelectHTMLAttributes<HTMLSelectElement>, 'id'> &
  Omit<Around, 'children'> & {
    readonly options: readonly { readonly value: string; readonly label: string }[];
  };

export function SelectField({ id, label, hint, fault, options, ...rest }: SelectProps) {
  return (
    <Field id={id} label={label} hint={hint} fault={fault}>
      <select
        id={id}
        aria-describedby={describedBy(id, hint, fault)}
        aria-invalid={fault ? true : undefined}
        className={inputLook}
        {...rest}
      >
        {options.map(({ value, label: text }) => (
          <option key={value} value={value}>
            {visible(text)}
          </option>
        ))}
      </select>
    </Field>
  );
}
