/** Makes the reference of the configuration as Markdown, from the schema and the problem table. */
import type { Condition, Field, ObjectField } from './field.ts';
import { memberPath } from './locate.ts';
import { problemCodes } from './problems.ts';
import { schema } from './schema.ts';

const opening = `# Configuration reference

svc reads one JSON file: the one that \`--config\` or the variable \`SVC_CONFIG\` names, else
\`svc.json\` ([where svc looks for it](command-line.md#which-configuration)). It is strict JSON,
without comments and trailing commas. \`npm run docs\` makes this page from the program's schema.
Editors use the same as [config.schema.json](config.schema.json): name it in \`$schema\` at the top.

- **Checking**: \`svc config check svc.json\` reports every problem, each with its place and a
  remedy. Of more than 200 it reports the first.
- **Absent**: a field that is \`null\`, or an empty text, counts as absent.
- **Unknown keys** are a problem, except \`$schema\` and keys that begin with \`_\`.
- **Secrets**: a field that ends in \`_env\` holds the **name** of an environment variable, never
  the secret itself. svc removes line ends around a secret, and other white space with a warning.
  Every named variable must be set when svc starts; only \`admin.token_env\` may be unset.
- **Relative paths** begin in the folder of the file.
- ***added***: the field is not part of the first contract, and always optional.
- ***restart***: a change of the field needs a restart of svc. With *on the same port*: only a
  change of the host on the same port needs one.
- ***clamped***: svc takes the maximum instead of a larger number, with a warning.
- **0** means the default only where the table says so.
`;

/** The whole page; ends with a line end. */
export function referencePage(): string {
  const blocks = blocksOf(schema, '');
  const tables = [additions(blocks), problemTable()];
  return [opening, ...blocks.map(section), ...tables].join('\n');
}

type Block = { readonly path: string; readonly field: ObjectField };

/** Every object of the schema, outermost first; `[]` stands for any entry of a list. */
function blocksOf(field: Field, path: string): readonly Block[] {
  if (field.type === 'list') return blocksOf(field.items, `${path}[]`);
  if (field.type !== 'object') return [];
  const inner = Object.entries(field.fields);
  return [
    { path, field },
    ...inner.flatMap(([key, value]) => blocksOf(value, memberPath(path, key))),
  ];
}

function section({ path, field }: Block): string {
  const title = path === '' ? 'The file' : `\`${path}\``;
  const rows = Object.entries(field.fields).map(([key, value]) => [
    `\`${key}\``,
    typeOf(value),
    requiredOf(value),
    defaultOf(value),
    value.description + marksOf(value),
  ]);
  const head = ['Field', 'Type', 'Required', 'Default', 'Meaning'];
  const more = (field.conditions ?? []).map(conditionLine).join('');
  const tail = more === '' ? '' : `\n${more}`;
  return `## ${title}\n\n${field.description}\n\n${table(head, rows)}${tail}`;
}

function requiredOf(field: Field): string {
  if (field.required !== true) return 'no';
  const unless = field.type === 'list' ? field.unless : undefined;
  return unless === undefined ? 'yes' : `yes, without ${marked(unless)}`;
}

function marksOf({ added, lifetime }: Field): string {
  const restart = { process: ' *(restart)*', port: ' *(restart on the same port)*' };
  return (added === true ? ' *(added)*' : '') + (lifetime === undefined ? '' : restart[lifetime]);
}

function conditionLine({ when, requires, forbids }: Condition): string {
  const pairs = Object.entries(when).map(([key, name]) => `${marked(key)} is ${marked(name)}`);
  const needs = requires === undefined ? [] : [`needs ${requires.map(marked).join(', ')}`];
  const lacks = forbids === undefined ? [] : [`takes no ${forbids.map(marked).join(', ')}`];
  return `- If ${pairs.join(' and ')}: ${[...needs, ...lacks].join('; ')}.\n`;
}

function marked(name: string): string {
  return `\`${name}\``;
}

function typeOf(field: Field): string {
  switch (field.type) {
    case 'text':
      if (field.numbers === true) return 'text or whole number';
      return field.format === 'env' ? 'name of a variable' : 'text';
    case 'choice': {
      const names = field.names.map((name) => `\`${name}\``).join(', ');
      const others = Object.entries(field.synonyms ?? {}).map(
        ([name, meant]) => `\`${name}\` = \`${meant}\``,
      );
      const also = others.length === 0 ? names : `${names} (also ${others.join(', ')})`;
      if (field.others === 'channel_name') return `${also}, or a name of your own`;
      return field.others === undefined ? also : `${also} or \`mcp.<server>.<tool>\``;
    }
    case 'integer': {
      const range =
        field.maximum === undefined
          ? `${field.minimum} or more`
          : `${field.minimum} to ${field.maximum}`;
      return `whole number, ${range}${field.above === 'clamped' ? ', clamped' : ''}`;
    }
    case 'decimal':
      return `number, ${field.minimum} to ${field.maximum}`;
    case 'boolean':
      return '`true` or `false`';
    case 'list':
      return `list of ${typeOf(field.items)}${field.itemsMin === undefined ? '' : ', not empty'}`;
    case 'map':
      return 'object: a variable to the name of a variable, each';
    case 'object':
      return 'object';
    default:
      return field satisfies never;
  }
}

function defaultOf(field: Field): string {
  if (field.type === 'object') return '';
  const note = 'defaultNote' in field ? field.defaultNote : undefined;
  if (field.default === undefined) return note ?? '';
  const zero = field.type === 'integer' && field.zeroIsDefault === true ? ', also for 0' : '';
  return `\`${JSON.stringify(field.default)}\`${zero}`;
}

function additions(blocks: readonly Block[]): string {
  const added = blocks.flatMap(({ path, field }) =>
    Object.entries(field.fields)
      .filter(([, value]) => value.added === true)
      .map(([key]) => `- \`${memberPath(path, key)}\``),
  );
  return `## Added fields\n\n${added.join('\n')}\n`;
}

function problemTable(): string {
  const rows = Object.entries(problemCodes).map(([code, { severity, meaning }]) => [
    `\`${code}\``,
    severity,
    meaning,
  ]);
  const head = ['Code', 'Severity', 'Meaning'];
  const opener = 'What `svc config check` can report. Warnings never change its exit code.';
  return `## Problems and warnings\n\n${opener}\n\n${table(head, rows)}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return row(head) + row(head.map(() => '---')) + rows.map(row).join('');
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |\n`;
}
