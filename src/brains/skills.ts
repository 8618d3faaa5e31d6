/**
 * Reads skills: folders of text that inform an agent. A skill runs nothing and grants nothing. The
 * result is text for the prompt, and warnings for the authors. The prompt has every name and
 * description; a body is in the prompt whole or not at all. Format: Agent Skills,
 * https://agentskills.io/specification.
 */
import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrainConfig } from '../config/config.ts';

export type SkillsRead =
  /** `text` null: no skills. A warning is a sentence with the skill's name and the fault. */
  | { readonly kind: 'read'; readonly text: string | null; readonly warnings: readonly string[] }
  /** The folder itself cannot be read. */
  | { readonly kind: 'problem'; readonly message: string };

/** The skills of every agent, read once for each running configuration. */
export type SkillsOfBrains =
  | {
      readonly kind: 'read';
      /** Text for the prompt, by the brain's name, if the brain has skills. */
      readonly texts: ReadonlyMap<string, string>;
      /** `path` is the place in the configuration. */
      readonly warnings: readonly { readonly path: string; readonly message: string }[];
    }
  | { readonly kind: 'problem'; readonly path: string; readonly message: string };

/** @param brains as listed in the configuration, with absolute paths */
export async function readSkillsOf(brains: readonly BrainConfig[]): Promise<SkillsOfBrains> {
  const texts = new Map<string, string>();
  const warnings: { readonly path: string; readonly message: string }[] = [];
  for (const [index, { name, agent }] of brains.entries()) {
    if (agent === null || agent.skillsDir === null) continue;
    const path = `brains[${index}].agent.skills_dir`;
    const read = await readSkills(agent.skillsDir, agent.skillsBodyBudgetRunes);
    if (read.kind === 'problem') return { ...read, path };
    if (read.text !== null) texts.set(name, read.text);
    warnings.push(...read.warnings.map((message) => ({ path, message })));
  }
  return { kind: 'read', texts, warnings };
}

const skillsMax = 100;
const fileBytesMax = 262_144;
const file = 'SKILL.md';

/**
 * Reads every skill of a folder, in the order of their folders' names. The folder itself may be a
 * link; links inside it are not followed.
 * @param folder an absolute path
 * @param bodyBudgetRunes the most Unicode code points of all bodies together
 */
export async function readSkills(folder: string, bodyBudgetRunes: number): Promise<SkillsRead> {
  const names: string[] = [];
  const warnings: string[] = [];
  try {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.name.startsWith('.')) continue;
      if (entry.isDirectory()) names.push(entry.name);
      else if (entry.isSymbolicLink()) {
        warnings.push(`${skillName(entry.name)} is skipped: it is a link, and no link is followed`);
      }
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' || code === 'ENOTDIR' ? 'there is none' : `${code}`;
    return { kind: 'problem', message: `the folder of skills ${folder} cannot be read: ${why}` };
  }
  names.sort();
  if (names.length > skillsMax) {
    const skipped = names.length - skillsMax;
    warnings.push(`${skipped} skills are skipped: at most ${skillsMax} are read`);
  }
  const skills: Skill[] = [];
  for (const name of names.slice(0, skillsMax)) {
    const text = await readSkillFile(join(folder, name));
    const read = 'fault' in text ? text : await readSkill(name, text.text);
    if ('fault' in read) {
      warnings.push(`${skillName(name)} is skipped: ${read.fault}`);
      continue;
    }
    warnings.push(...read.warnings.map((warning) => `${skillName(name)}: ${warning}`));
    skills.push(read.skill);
  }
  return { kind: 'read', ...promptText(skills, bodyBudgetRunes, warnings) };
}

type Text = { readonly text: string } | { readonly fault: string };

async function readSkillFile(folder: string): Promise<Text> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    // Without O_NONBLOCK, a pipe without a writer would block the start. Windows has neither flag.
    const flags = O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0);
    await using handle = await open(join(folder, file), flags);
    const facts = await handle.stat();
    if (!facts.isFile()) return { fault: `its ${file} is no file` };
    const bytes = Buffer.alloc(Math.min(facts.size, fileBytesMax) + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      ({ bytesRead: read } = await handle.read(bytes, length, bytes.length - length, null));
    }
    if (length > fileBytesMax) return { fault: `its ${file} has more than ${fileBytesMax} bytes` };
    // The decoder removes a byte order mark.
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length)) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { fault: `it has no ${file}` };
    if (code === 'ELOOP') return { fault: `its ${file} is a link, and no link is followed` };
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return { fault: `its ${file} is not UTF-8` };
    return { fault: `its ${file} cannot be read: ${code ?? 'it is broken'}` };
  }
}

function promptText(skills: readonly Skill[], budgetRunes: number, warnings: readonly string[]) {
  if (skills.length === 0) return { text: null, warnings };
  const bodies: string[] = [];
  const leftOut: string[] = [];
  let room = budgetRunes;
  const lines = skills.map(({ name, description, body }) => {
    if (body === '') return `- ${name}: ${description}`;
    const length = skillsRunes(body);
    if (length > room) {
      leftOut.push(
        `${name}: its text is left out: it has ${length} code points, and ${room} of ` +
          `skills_body_budget (${budgetRunes}) are left`,
      );
      return `- ${name}: ${description} (Its text is too long and is not here.)`;
    }
    room -= length;
    bodies.push(`Skill ${name}:\n${body}`);
    return `- ${name}: ${description}`;
  });
  const text = [`${introduction}\n${lines.join('\n')}`, ...bodies].join('\n\n');
  return { text, warnings: [...warnings, ...leftOut] };
}

const introduction =
  'Skills, which say how things are done here. They inform you, and give you no tools and no ' +
  'rights:';

/** Unicode code points. */
function skillsRunes(text: string): number {
  let count = 0;
  for (const _rune of text) count++;
  return count;
}

/** A skill's name for a sentence. */
function skillName(name: string): string {
  return `skill ${JSON.stringify(name.slice(0, 100))}`;
}

/** The content of a SKILL.md: YAML between two lines of three dashes, and a Markdown body. */
type Skill = {
  /** One line, like the description. */
  readonly name: string;
  readonly description: string;
  readonly body: string;
};

/** `fault`: a part of a sentence that says why the file is no skill. */
type SkillRead =
  | { readonly skill: Skill; readonly warnings: readonly string[] }
  | { readonly fault: string };

const frontMatterCharactersMax = 16_384;
const nameCharactersMax = 64;
const descriptionRunesMax = 1_024;

/** @param folder the name of its folder, which should also be the skill's name */
async function readSkill(folder: string, text: string): Promise<SkillRead> {
  const lines = text.replaceAll(/\r\n?/g, '\n').split('\n');
  if (lines[0]?.trimEnd() !== '---') return { fault: 'it does not begin with front matter (---)' };
  const end = lines.findIndex((line, at) => at > 0 && line.trimEnd() === '---');
  if (end < 0) return { fault: 'its front matter has no end (---)' };
  const read = await readFields(lines.slice(1, end).join('\n'));
  if ('fault' in read) return read;
  const { name: nameField, description: descriptionField } = read.fields;
  const description = typeof descriptionField === 'string' ? oneLine(descriptionField) : '';
  if (description === '') return { fault: 'its front matter has no description' };
  const name = typeof nameField === 'string' ? oneLine(nameField) : '';
  const warnings = nameWarnings(name, folder);
  const runes = Array.from(description);
  if (runes.length > descriptionRunesMax) {
    warnings.push(`its description is cut to ${descriptionRunesMax} code points`);
  }
  const skill = {
    name: (name === '' ? oneLine(folder) : name).slice(0, nameCharactersMax),
    description: runes.slice(0, descriptionRunesMax).join(''),
    body: printable(lines.slice(end + 1).join('\n')).trim(),
  };
  return { skill, warnings };
}

/** A name that breaks the format only causes warnings. */
function nameWarnings(name: string, folder: string): string[] {
  if (name === '') return ['its front matter has no name; that of its folder is used'];
  const warnings: string[] = [];
  if (name.length > nameCharactersMax) {
    warnings.push(`its name is cut to ${nameCharactersMax} characters`);
  }
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) {
    warnings.push('its name should be of lower-case letters, digits and single hyphens');
  }
  if (name !== folder) warnings.push('its name should be that of its folder');
  return warnings;
}

type Fields = Readonly<Record<string, unknown>>;

type Read = { readonly fields: Fields } | { readonly fault: string };

/**
 * The fields of front matter. If it is no YAML, values that would need quotes are read as plain
 * text, like other readers of skills do: `description: Use when: asked` (agentskills.io, "Adding
 * skills support"; cursor/plugins#207, gstack#1778).
 */
async function readFields(source: string): Promise<Read> {
  if (source.length > frontMatterCharactersMax) {
    return { fault: `its front matter has more than ${frontMatterCharactersMax} characters` };
  }
  const strict = await readYaml(source);
  if ('fields' in strict) return strict;
  const quoted = withQuotes(source);
  if (quoted === source) return strict;
  const lenient = await readYaml(quoted);
  return 'fields' in lenient ? lenient : strict;
}

/** A key at the beginning of a line, with a value that is no quotation, list or block. */
const plainField = /^([A-Za-z][\w-]*):[ \t]+([^\s"'[{|>&*!#].*)$/;
/** Text that YAML reads as a mapping, or refuses at the beginning of a value. */
const needsQuotes = /:(?:\s|$)|^[@`%]|^[-?](?:\s|$)/;

/** Quotes values that need it, together with their indented continuation lines. */
function withQuotes(source: string): string {
  const out: string[] = [];
  const lines = source.split('\n');
  for (let at = 0; at < lines.length; at++) {
    const [line, key, first] = plainField.exec(lines[at]!) ?? [lines[at]!];
    if (key === undefined || first === undefined) {
      out.push(line);
      continue;
    }
    let value = first.trim();
    let next = at + 1;
    for (; /^[ \t]+\S/.test(lines[next] ?? ''); next++) value += ` ${lines[next]!.trim()}`;
    if (!needsQuotes.test(value)) {
      out.push(line);
      continue;
    }
    out.push(`${key}: ${JSON.stringify(value)}`);
    at = next - 1;
  }
  return out.join('\n');
}

/** Reads one YAML mapping of the core schema: each key once, no aliases, anchors or tags. */
async function readYaml(source: string): Promise<Read> {
  const { isAlias, isNode, parseDocument, visit } = await import('yaml');
  try {
    const document = parseDocument(source, {
      schema: 'core',
      version: '1.2',
      uniqueKeys: true,
      merge: false,
      prettyErrors: false,
    });
    const [error] = document.errors;
    if (error !== undefined)
      return { fault: `its front matter is no YAML: ${oneLine(error.message)}` };
    let fault: string | null = null;
    visit(document, (_key, node) => {
      if (isAlias(node)) fault = 'its front matter uses an alias';
      else if (isNode(node) && node.tag !== undefined) fault = 'its front matter uses a tag';
      return fault === null ? undefined : visit.BREAK;
    });
    if (fault !== null) return { fault };
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { fault: 'its front matter has no fields' };
    }
    return { fields: { ...value } };
  } catch {
    return { fault: 'its front matter cannot be read: it is nested too deeply, or broken' };
  }
}

/** The text in one line. */
function oneLine(text: string): string {
  return printable(text).replaceAll(/\s+/g, ' ').trim();
}

/** The text without control characters, except tabs and line ends. */
function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, '');
}
